# Frozen values for tests/oracle/test_changes.py: Rscript tests/oracle/changes.R
# coxph on survSplit data: an effect of arm for each period, of people with one row, and of people
# who enter late, have several rows and gaps.
library(survival)

folder <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
cuts <- c(5, 12)
horizon <- 24

lines <- character()
record <- function(model, what, values)
  lines <<- c(lines, paste(c(model, what, sprintf("%.17g", values)), collapse = ","))
fit <- function(model, people) {
  people$status <- people$status * (people$time <= horizon)
  people$time <- pmin(people$time, horizon)
  people <- people[people$start < people$time, ]
  split <- survSplit(Surv(start, time, status) ~ ., people, cut = cuts, episode = "period")
  for (arm in c("b", "c")) for (k in 1:3)
    split[[paste0(arm, k)]] <- (split$arm == arm) * (split$period == k)
  cox <- coxph(Surv(start, time, status) ~ age + b1 + b2 + b3 + c1 + c2 + c3, split,
               ties = "efron", control = coxph.control(eps = 1e-12))
  record(model, "coefficient", coef(cox))
  record(model, "standard error", sqrt(diag(vcov(cox))))
  # one effect for all time: differences of neighbouring periods
  between <- rbind(c(0, 1, -1, 0, 0, 0, 0), c(0, 0, 1, -1, 0, 0, 0),
                   c(0, 0, 0, 0, 1, -1, 0), c(0, 0, 0, 0, 0, 1, -1))
  apart <- between %*% coef(cox)
  wald <- drop(t(apart) %*% solve(between %*% vcov(cox) %*% t(between), apart))
  record(model, "wald", c(wald, pchisq(wald, 4, lower.tail = FALSE)))
}
people <- read.csv(file.path(folder, "people.csv"))
fit("one row", cbind(people, start = 0))
fit("several rows", read.csv(file.path(folder, "rows.csv")))
writeLines(lines, file.path(folder, "changes.csv"))
