{% macro covariate(item) -%}
list(name = {{ item.name | text }}, indicator = {{ "TRUE" if item.indicated else "FALSE" }},
{%- if item.levels is defined %} levels = {{ item.levels | texts }})
{%- else %} low = {{ item.bounds[0] | number }}, high = {{ item.bounds[1] | number }}, fill = {{ item.fill | number }},
{{- " " }}scale = {{ ("spline" if item.knots else item.scale or "linear") | text }}, knots = {{ item.knots or 0 }},
{{- " " }}codes = {{ content.codes(item) | numbers }})
{%- endif %}
{%- endmacro %}
{% for line in words %}
# {{ line }}
{% endfor %}
#
# source("this file"); print(discreet_model)
# predict_survival(people, times, interval = TRUE)   people: a data frame with the covariates

discreet_model <- structure(list(
  words = {{ content.words | texts }},
  link = {{ content.link | text }},
  effect = {{ effect | text }},
  baseline = {{ content.design.declared.kind | text }},
  baseline_size = {{ content.design.declared.dimension }},
  baseline_steps = {{ content.design.steps | numbers }},
  column = {{ (content.periods.column_of + 1) | numbers }},
  first = {{ content.periods.stretches[0] | numbers }},
  last = {{ content.periods.stretches[1] | numbers }},
  edges = {{ content.edges | numbers }},
  covariates = {{ content.schema.covariates | map("apply", covariate) | listed }},
  interactions = {{ content.schema.interactions | map(attribute="of") | map("texts") | listed }},
  strata = {% if strata %}list(name = {{ strata.name | text }}, levels = {{ strata.levels | texts }}){% else %}NULL{% endif %},
  names = {{ content.names | texts }},
  causes = {{ content.parts | map(attribute="cause") | texts if content.parts | length > 1 else "NULL" }},
  alpha = {{ content.parts | map(attribute="alpha") | map("matrix") | listed }},
  beta = {{ content.parts | map(attribute="beta") | map("numbers") | listed }},
  covariance = {{ "NULL" if content.covariance is none else content.covariance | matrix }}
), class = "discreet_model")

# Predictions. Nothing below depends on the model; its numbers are in `discreet_model` above.

# b_1 = 1, b_2 = t, b_{i+2} = d_i - d_{k-1}, the natural cubic spline with k even knots in [0, 1].
discreet_spline <- function(t, knots) {
  columns <- cbind(rep(1, length(t)), t)[, seq_len(min(knots, 2)), drop = FALSE]
  if (knots >= 3) {
    place <- (seq_len(knots) - 1) / (knots - 1)
    cube <- function(k) (pmax(t - k, 0)^3 - pmax(t - 1, 0)^3) / (1 - k)
    last <- cube(place[knots - 1])
    for (j in seq_len(knots - 2)) columns <- cbind(columns, cube(place[j]) - last)
  }
  unname(columns)
}

# A_s, one row for each interval: the declared baseline, and a step where effects change.
discreet_basis <- function(model = discreet_model) {
  intervals <- length(model$edges) - 1
  s <- seq_len(intervals)
  size <- model$baseline_size
  smooth <- switch(model$baseline,
    "natural-spline" = discreet_spline(s / intervals, size),
    "log-time" = outer(log(s / intervals), seq_len(size) - 1, "^"),
    outer((size * s + intervals - 1) %/% intervals, seq_len(size), "==") + 0
  )
  unname(cbind(smooth, outer(s, model$baseline_steps, ">") + 0))
}

# 1 where an effect is in force, one row for each interval and one column for each effect.
discreet_force <- function(model = discreet_model) {
  s <- seq_len(length(model$edges) - 1)
  outer(s, model$first, ">=") * outer(s, model$last, "<=")
}

# The number that a value spells, in decimals; NA if it spells none.
discreet_read <- function(values) {
  if (is.numeric(values) || is.logical(values)) return(as.numeric(values))
  text <- discreet_trim(values)
  text[tolower(text) %in% "true"] <- "1"
  text[tolower(text) %in% "false"] <- "0"
  decimal <- "^[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|inf|infinity)$"
  text[!grepl(decimal, text, ignore.case = TRUE)] <- NA
  as.numeric(text)
}
discreet_trim <- function(values) trimws(as.character(values), whitespace = "[\\h\\v]")

# Values that read as the same finite number are one level (1, 1.0, TRUE); other texts must be equal.
discreet_level <- function(values, levels) {
  if (is.factor(values)) values <- as.character(values)
  number <- discreet_read(values)
  known <- discreet_read(levels)
  text <- discreet_trim(values)
  found <- rep(NA_integer_, length(values))
  for (k in seq_along(levels)) {
    same <- if (is.finite(known[k])) number == known[k] & is.finite(number)
            else text == discreet_trim(levels[k])
    found[!is.na(same) & same] <- k
  }
  found
}

# A missing or unreadable number, or a code for one, becomes the declared fill; then it is clipped to the public bounds.
discreet_number <- function(values, item) {
  if (is.factor(values)) values <- as.character(values)
  number <- discreet_read(values)
  missing <- is.na(number) | number %in% item$codes
  number[missing] <- item$fill
  list(value = pmin(pmax(number, item$low), item$high), missing = missing + 0)
}

# The columns x of the linear predictor, one row for each person.
discreet_columns <- function(people, model = discreet_model) {
  names <- vapply(model$covariates, function(item) item$name, "")
  absent <- setdiff(c(names, model$strata$name), colnames(people))
  if (length(absent)) stop("there is no column '", absent[1], "' in the data.", call. = FALSE)
  values <- list()
  columns <- matrix(0, nrow(people), 0)
  for (item in model$covariates) {
    given <- people[[item$name]]
    if (is.null(item$levels)) {
      read <- discreet_number(given, item)
      x <- switch(item$scale,
        linear = cbind(read$value),
        log = cbind(log(read$value)),
        spline = discreet_spline((read$value - item$low) / (item$high - item$low), item$knots)[, -1, drop = FALSE]
      )
      extra <- read$missing
    } else {
      level <- discreet_level(given, item$levels)
      extra <- is.na(level) + 0
      level[is.na(level)] <- 1
      x <- outer(level, seq_along(item$levels)[-1], "==") + 0
    }
    values[[item$name]] <- x
    columns <- cbind(columns, x)
    if (item$indicator) columns <- cbind(columns, extra)
  }
  for (pair in model$interactions) {
    one <- values[[pair[1]]]
    other <- values[[pair[2]]]
    for (j in seq_len(ncol(one))) columns <- cbind(columns, one[, j] * other)
  }
  unname(columns)
}

# -log(1 - h) of an interval, and its slope in the linear predictor.
discreet_loss <- function(eta, link) switch(link,
  logit = pmax(eta, 0) + log1p(exp(-abs(eta))),
  cloglog = exp(eta),
  probit = -pnorm(eta, lower.tail = FALSE, log.p = TRUE)
)
discreet_slope <- function(eta, link) switch(link,
  logit = plogis(eta),
  cloglog = exp(eta),
  probit = exp(dnorm(eta, log = TRUE) - pnorm(eta, lower.tail = FALSE, log.p = TRUE))
)

discreet_ended <- function(times, model) {
  edges <- model$edges
  if (!is.numeric(times) || anyNA(times) || any(times < edges[1]) || any(times > edges[length(edges)]))
    stop("times must lie between ", edges[1], " and the horizon, ", edges[length(edges)], ".", call. = FALSE)
  findInterval(times, edges[-1]) + 1
}

# For each person and time the risk (of any event, or of one cause by its number) and its standard error.
discreet_risk <- function(people, times, cause, interval, model = discreet_model) {
  if (interval && is.null(model$covariance))
    stop("this model has no covariance, so there are no intervals.", call. = FALSE)
  place <- discreet_ended(times, model)
  x <- discreet_columns(people, model)
  stratum <- rep(1L, nrow(people))
  if (!is.null(model$strata)) {
    stratum <- discreet_level(people[[model$strata$name]], model$strata$levels)
    stratum[is.na(stratum)] <- 1L
  }
  basis <- discreet_basis(model)
  force <- discreet_force(model)
  causes <- length(model$alpha)
  size <- length(model$alpha[[1]]) + length(model$beta[[1]])
  strata <- nrow(model$alpha[[1]])
  risk <- error <- matrix(NA_real_, nrow(people), length(times))
  for (i in seq_len(nrow(people))) {
    own <- force * rep(x[i, model$column], each = nrow(basis))  # x in the places of effects in force
    z <- matrix(0, nrow(basis), size)  # (A_s in the places of the stratum's baseline, own)
    z[, (stratum[i] - 1) * ncol(basis) + seq_len(ncol(basis))] <- basis
    z[, strata * ncol(basis) + seq_len(ncol(own))] <- own
    eta <- vapply(seq_len(causes), function(r) {
      drop(basis %*% model$alpha[[r]][stratum[i], ] + own %*% model$beta[[r]])
    }, numeric(nrow(basis)))
    eta <- matrix(eta, ncol = causes)
    loss <- pmin(discreet_loss(eta, model$link), 700)
    odds <- expm1(loss)
    # with one event this is the loss itself; log(sum of odds + 1) for several causes
    step <- if (causes == 1) discreet_loss(eta[, 1], model$link) else log1p(rowSums(odds))
    total <- c(0, cumsum(step))
    after <- exp(-total[-1])
    if (is.null(cause)) {
      risk[i, ] <- total[place]
    } else {
      risk[i, ] <- c(0, cumsum(after * odds[, cause]))[place]
    }
    if (!interval) next
    slope <- discreet_slope(eta, model$link)
    # d total / d eta_r = share_r: o_r' / (1 + sum of odds), o_r' = (1 + o_r) phi'
    share <- if (causes == 1) slope else (1 + odds) * slope / (1 + rowSums(odds))
    moved <- do.call(cbind, lapply(seq_len(causes), function(r) {
      matrix(apply(share[, r] * z, 2, cumsum), nrow = nrow(basis))
    }))
    if (!is.null(cause)) {
      own <- matrix(0, nrow(basis), size * causes)
      own[, (cause - 1) * size + seq_len(size)] <- (1 + odds[, cause]) * slope[, cause] * z
      change <- after * (own - odds[, cause] * moved)
      moved <- matrix(apply(change, 2, cumsum), nrow = nrow(basis))
    }
    moved <- rbind(0, moved)[place, , drop = FALSE]
    error[i, ] <- sqrt(pmax(rowSums((moved %*% model$covariance) * moved), 0))
  }
  list(risk = risk, error = error)
}

# Survival without an event up to each time: one row for each person, one column for each time.
# With interval = TRUE a list of estimate, lower and upper, privacy noise included.
predict_survival <- function(people, times = discreet_model$edges, interval = FALSE,
                             confidence = 0.95, model = discreet_model) {
  found <- discreet_risk(people, times, NULL, interval, model)
  total <- found$risk
  if (!interval) return(exp(-total))
  relative <- ifelse(total > 0, found$error / total, 0)
  factor <- exp(pmin(qnorm(0.5 + confidence / 2) * relative, 700))
  list(estimate = exp(-total), lower = exp(-total * factor), upper = exp(-total / factor))
}

# Probability of an event of the cause up to each time; only for a model of competing risks.
predict_incidence <- function(people, cause, times = discreet_model$edges, interval = FALSE,
                              confidence = 0.95, model = discreet_model) {
  number <- match(cause, model$causes)
  if (length(model$alpha) == 1) stop("this model has one event: use predict_survival.", call. = FALSE)
  if (is.na(number)) stop("causes are ", paste(model$causes, collapse = ", "), ".", call. = FALSE)
  found <- discreet_risk(people, times, number, interval, model)
  if (!interval) return(found$risk)
  inner <- pmin(pmax(found$risk, 1e-12), 1 - 1e-12)
  centre <- -log1p(-inner)
  width <- qnorm(0.5 + confidence / 2) * found$error / ((1 - inner) * centre)
  none <- found$risk <= 0
  list(estimate = found$risk,
       lower = ifelse(none, 0, -expm1(-centre * exp(-width))),
       upper = ifelse(none, 0, -expm1(-centre * exp(width))))
}

# Coefficients with 95 % intervals; exp() of an effect is the ratio that is named.
coef.discreet_model <- function(object, ...) {
  vector <- unlist(lapply(seq_along(object$alpha), function(r) c(t(object$alpha[[r]]), object$beta[[r]])))
  names(vector) <- if (length(object$alpha) == 1) object$names
                   else paste0(rep(object$causes, each = length(object$names)), ": ", object$names)
  vector
}

vcov.discreet_model <- function(object, ...) object$covariance

print.discreet_model <- function(x, ...) {
  cat(strwrap(x$words, width = 100), sep = "\n")
  cat("\n")
  vector <- coef(x)
  table <- data.frame(coefficient = vector, row.names = names(vector), check.names = FALSE)
  if (!is.null(x$covariance)) {
    error <- sqrt(pmax(diag(x$covariance), 0))
    table$`standard error` <- error
    table$lower <- vector - qnorm(0.975) * error
    table$upper <- vector + qnorm(0.975) * error
  }
  if (nzchar(x$effect)) {
    ratio <- exp(vector)
    ratio[rep(seq_along(x$names) <= length(x$alpha[[1]]), length(x$alpha))] <- NA
    table[[x$effect]] <- ratio
  }
  print(table, digits = 4)
  invisible(x)
}
