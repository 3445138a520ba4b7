# coxph with Efron's ties on every people-*.csv of a folder: Rscript studies/cox.R FOLDER
# Columns: time, event, then covariates; texts are factors whose first level is the file's first reference.
library(survival)

folder <- commandArgs(trailingOnly = TRUE)[1]
files <- list.files(folder, pattern = "^people-.*[.]csv$", full.names = TRUE)
lines <- "set,coefficient,estimate,standard_error"
for (file in files) {
  people <- read.csv(file, stringsAsFactors = FALSE, check.names = FALSE)
  fit <- coxph(Surv(time, event) ~ ., people, ties = "efron")
  set <- sub("^people-(.*)[.]csv$", "\\1", basename(file))
  values <- sprintf("%s,%s,%.10g,%.10g", set, gsub("`", "", names(coef(fit))), coef(fit),
                    sqrt(diag(vcov(fit))))
  lines <- c(lines, values)
}
writeLines(lines, file.path(folder, "cox.csv"))
