# Reference numbers of mgcv for the families of AdditiveModel and SplineRegression.
# Rscript make.R in this folder writes data.csv, rows.csv and fits.csv; no test runs R.
# mgcv 1.8-41: gam(optimizer = "perf") is the performance iteration with GCV or UBRE of the working model, bam(method =
# "REML") the same with its REML (gam would leave "perf" for REML).
library(mgcv)
set.seed(20)
n <- 150
x1 <- round(runif(n, 0, 10), 4)
x2 <- round(rnorm(n), 4)
g <- sample(c("a", "b", "c"), n, replace = TRUE)
w <- round(runif(n, 0.5, 2), 3)
eta <- sin(x1) + 0.4 * x2^2 + (g == "b") * 0.5 - 0.5
data <- data.frame(x1, x2, g, w,
                   binomial = rbinom(n, 1, plogis(1.5 * eta)),
                   poisson = rpois(n, exp(eta)),
                   gamma = signif(rgamma(n, 3, 3 / exp(eta)), 6))
write.csv(data, "data.csv", row.names = FALSE, quote = FALSE)
data <- read.csv("data.csv", stringsAsFactors = TRUE)

families <- list(binomial = binomial(), poisson = poisson(), gamma = Gamma(link = "log"))
tight <- gam.control(epsilon = 1e-13, maxit = 1000, mgcv.tol = 1e-13)
some <- seq(1, n, by = 5)
rows <- data.frame(row = some)
fits <- NULL

keep <- function(name, fit) {
  link <- predict(fit, type = "link", se.fit = TRUE)
  rows[[paste0(name, ".link")]] <<- formatC(as.numeric(link$fit)[some], digits = 15)
  rows[[paste0(name, ".se")]] <<- formatC(as.numeric(link$se.fit)[some], digits = 15)
  # mgcv divides each penalty by a scale of its own
  lams <- sapply(seq_along(fit$smooth), function(t) {
    own <- fit$smooth[[t]]
    (if (any(own$sp >= 0)) own$sp else fit$sp[t]) / own$S.scale
  })
  lams <- c(as.numeric(lams), NA)[1:2]
  one <- data.frame(name = name, lam1 = lams[1], lam2 = lams[2], edf = sum(fit$edf), scale = fit$sig2,
                    deviance = deviance(fit), null_deviance = fit$null.deviance, score = as.numeric(fit$gcv.ubre))
  fits <<- rbind(fits, one)
}

for (name in names(families)) {
  data$y <- data[[name]]
  family <- families[[name]]
  two <- y ~ s(x1, bs = "cr", k = 8) + s(x2, bs = "cr", k = 6) + g
  one <- y ~ s(x1, bs = "cr", k = 12)
  keep(paste0(name, ".fixed"), gam(two, family, data, sp = c(0.5, 3), optimizer = "perf", control = tight))
  keep(paste0(name, ".weighted"), gam(two, family, data, weights = w, sp = c(0.02, 1), optimizer = "perf", control = tight))
  keep(paste0(name, ".gcv"), gam(two, family, data, optimizer = "perf", control = tight))
  keep(paste0(name, ".reml"), bam(two, family, data, method = "REML", control = tight))
  keep(paste0(name, ".one.fixed"), gam(one, family, data, sp = 0.1, optimizer = "perf", control = tight))
  keep(paste0(name, ".one.gcv"), gam(one, family, data, optimizer = "perf", control = tight))
  keep(paste0(name, ".one.reml"), bam(one, family, data, method = "REML", control = tight))
}
write.csv(rows, "rows.csv", row.names = FALSE, quote = FALSE)
fits[-1] <- lapply(fits[-1], function(x) formatC(x, digits = 16))
write.csv(fits, "fits.csv", row.names = FALSE, quote = FALSE)
