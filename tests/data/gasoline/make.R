# The gasoline spectra and R's root mean squared errors of prediction of partial least squares.
# Rscript make.R in this folder writes data.csv and rmsep.csv; no test runs R.
# pls 2.8-1: plsr centres in every training set and scales nothing; validation = "CV" with segments that are given, and
# "LOO". RMSEP is the root of the mean over all rows. The fold of row i, numbered from 0, is i mod 10.
library(pls)
data(gasoline)
n <- nrow(gasoline)
NIR <- unclass(gasoline$NIR)
colnames(NIR) <- sub(" nm", "", colnames(NIR))
# six decimals are all that there are: whole numbers of millionths
stopifnot(all(abs(NIR - round(NIR, 6)) < 1e-12))
write.csv(cbind(octane = gasoline$octane, round(1e6 * NIR)), "data.csv", row.names = FALSE, quote = FALSE)

segments <- lapply(0:9, function(fold) which((seq_len(n) - 1) %% 10 == fold))
rmsep <- function(...) {
  fit <- plsr(octane ~ NIR, ncomp = 10, data = gasoline, ...)
  RMSEP(fit, estimate = "CV", intercept = FALSE)$val[1, 1, ]
}
found <- cbind(components = 1:10,
               folds = formatC(rmsep(validation = "CV", segments = segments), digits = 15),
               loo = formatC(rmsep(validation = "LOO"), digits = 15))
write.csv(found, "rmsep.csv", row.names = FALSE, quote = FALSE)
