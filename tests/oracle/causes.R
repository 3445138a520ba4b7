# Frozen values for tests/oracle/test_causes.py: Rscript tests/oracle/causes.R
# Aalen-Johansen by survival::survfit with a factor status, on the intervals of a grid of 6.
library(survival)

folder <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
people <- read.csv(file.path(folder, "people.csv"), stringsAsFactors = TRUE)
last <- pmin(floor(people$time / 4) + 1, 6)
cause <- factor(people$status * (1 + round(people$age * 10) %% 2), 0:2, c("alive", "first", "second"))

lines <- character()
for (group in c("all", levels(people$arm))) {
  chosen <- group == "all" | people$arm == group
  fit <- survfit(Surv(last[chosen], cause[chosen]) ~ 1)
  found <- summary(fit, times = 1:6, extend = TRUE)$pstate
  for (column in 1:3)
    lines <- c(lines, paste(c(group, levels(cause)[column],
                              sprintf("%.17g", found[, column])), collapse = ","))
}
writeLines(lines, file.path(folder, "causes.csv"))
