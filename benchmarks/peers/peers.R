# One job of the peers in R: Rscript peers.R JOB DATA ROWS COLUMNS SECONDS NUMBERS...
# DATA has the folds, y and the columns as doubles. Prints the package, the processor's seconds of the best run that fits
# into SECONDS, and figures, a line each.

arguments <- commandArgs(trailingOnly = TRUE)
job <- arguments[1]
if (!requireNamespace(job, quietly = TRUE)) quit(status = 3)
n <- as.integer(arguments[3])
p <- as.integer(arguments[4])
budget <- as.numeric(arguments[5])
numbers <- as.numeric(arguments[-(1:5)])
data <- matrix(readBin(arguments[2], "double", n * (p + 2)), n)
fold <- data[, 1]
y <- data[, 2]
X <- data[, -(1:2), drop = FALSE]

# Mean squared error of every number of components.
run_pls <- function() {
  segments <- lapply(sort(unique(fold)), function(k) which(fold == k))
  fit <- pls::plsr(y ~ X, ncomp = numbers[1], scale = FALSE, validation = "CV", segments = segments)
  as.vector(fit$validation$PRESS) / n
}

# Mean squared error of every penalty.
run_glmnet <- function() {
  fit <- glmnet::cv.glmnet(X, y, lambda = numbers[-1], foldid = fold, standardize = FALSE, thresh = numbers[1],
                           control = list(maxit = 1e6))
  fit$cvm
}

# Mean of the areas of the folds; its interval is made, too.
run_cvAUC <- function() {
  scores <- numeric(n)
  design <- cbind(1, X)
  for (k in unique(fold)) {
    out <- fold == k
    fit <- glm.fit(design[!out, ], y[!out], family = binomial(), control = list(epsilon = 1e-12, maxit = 100))
    scores[out] <- design[out, ] %*% fit$coefficients
  }
  found <- cvAUC::ci.cvAUC(scores, y, folds = fold)
  stopifnot(found$ci[1] < found$cvAUC, found$cvAUC < found$ci[2])
  found$cvAUC
}

# Mean of the losses with pairs of folds out, inflation of the interval, and the partitions that the package drew.
run_nestedcv <- function() {
  funcs <- list(
    fitter = function(X, Y, funcs_params) .lm.fit(cbind(1, X), Y)$coefficients,
    predictor = function(fit, X, funcs_params) cbind(1, X) %*% fit,
    loss = function(predicted, Y, funcs_params = NULL) as.vector(predicted - Y)^2
  )
  set.seed(1)
  found <- nestedcv::nested_cv(X, y, funcs, n_folds = numbers[1], reps = numbers[2])
  set.seed(1)
  partitions <- replicate(numbers[2], sample(1:n %% numbers[1] + 1))
  c(found$raw_mean, found$sd_infl, partitions)
}

run <- list(pls = run_pls, glmnet = run_glmnet, cvAUC = run_cvAUC, nestedcv = run_nestedcv)[[job]]
invisible(run())  # what is loaded at a first call is not timed
seconds <- Inf
spent <- 0
runs <- 0
while (runs == 0 || (runs < 20 && spent < budget)) {
  before <- proc.time()
  figures <- run()
  used <- sum((proc.time() - before)[1:2])
  seconds <- min(seconds, used)
  spent <- spent + used
  runs <- runs + 1
}
cat(paste(job, as.character(packageVersion(job))), format(seconds, digits = 17), format(figures, digits = 17), sep = "\n")
