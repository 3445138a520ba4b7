# Frozen values for tests/oracle/test_frozen.py: Rscript tests/oracle/frozen.R
# glm on the person-period expansion, three links and both baselines; coxph on the people.
library(survival)

folder <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
people <- read.csv(file.path(folder, "people.csv"), stringsAsFactors = TRUE)
horizon <- 24
intervals <- 12

last <- pmin(floor(people$time / (horizon / intervals)) + 1, intervals)
person <- rep(seq_len(nrow(people)), last)
interval <- sequence(last)
outcome <- as.integer(interval == last[person] & people$status[person] == 1)

# The paper's natural spline with knots 0, 1/2, 1.
t <- interval / intervals
d <- function(k) (pmax(t - k, 0)^3 - pmax(t - 1, 0)^3) / (1 - k)
bases <- list(
  "natural-spline:3" = cbind(1, t, d(0) - d(0.5)),
  "piecewise-constant:4" = outer(ceiling(4 * t - 1e-9), 1:4, "==") * 1
)
covariates <- cbind(people$age, people$arm == "b", people$arm == "c")[person, ]

lines <- character()
record <- function(model, what, values)
  lines <<- c(lines, paste(c(model, what, sprintf("%.17g", values)), collapse = ","))
for (baseline in names(bases)) for (link in c("logit", "cloglog", "probit")) {
  fit <- glm(outcome ~ 0 + cbind(bases[[baseline]], covariates), family = binomial(link),
             control = glm.control(epsilon = 1e-15, maxit = 100))
  table <- summary(fit)$coefficients
  name <- paste(link, baseline)
  record(name, "coefficient", table[, 1])
  record(name, "standard error", table[, 2])
  record(name, "log-likelihood", logLik(fit))
  names(fit$coefficients) <- make.unique(names(coef(fit)))  # confint.default looks up names
  # vcov and confint.default of the last two coefficients, and the Wald test of both: factor arm
  arm <- length(coef(fit)) + (-1:0)
  record(name, "covariance", vcov(fit)[arm, arm])
  record(name, "interval", confint.default(fit)[arm, ])
  wald <- drop(coef(fit)[arm] %*% solve(vcov(fit)[arm, arm], coef(fit)[arm]))
  record(name, "wald", c(wald, pchisq(wald, 2, lower.tail = FALSE)))
}
cox <- coxph(Surv(time, status) ~ age + arm, people, ties = "efron",
             control = coxph.control(eps = 1e-12))
record("cox", "coefficient", coef(cox))
record("cox", "standard error", sqrt(diag(vcov(cox))))
record("cox", "concordance", cox$concordance["concordance"])
writeLines(lines, file.path(folder, "frozen.csv"))
