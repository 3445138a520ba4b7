# Real sets for benchmarks/peers, read from installed R packages: Rscript sets.R FOLDER
# Debian: r-cran-survival r-cran-epi r-cran-relsurv. Writes one CSV each: time, event, covariates.
folder <- commandArgs(trailingOnly = TRUE)[1]
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
save <- function(name, table) write.csv(table, file.path(folder, paste0(name, ".csv")), row.names = FALSE)
has <- function(package) requireNamespace(package, quietly = TRUE)
if (has("survival")) {
  people <- survival::nafld1
  save("nafld1", with(people, data.frame(
    time = futime, event = status, age = age, male = male, weight = weight, height = height)))
  people <- survival::mgus2
  save("mgus2", with(people, data.frame(
    time = futime, event = death, age = age, sex = as.character(sex), hgb = hgb, creat = creat, mspike = mspike)))
  for (name in c("lung", "veteran")) {
    people <- getExportedValue("survival", name)
    save(name, with(people, data.frame(time = time, event = as.integer(status == max(status)))))
  }
}
if (has("Epi")) {
  people <- { data(DMlate, package = "Epi"); DMlate }
  people <- people[with(people, dox > dodm), ]
  save("dmlate", with(people, data.frame(
    time = dox - dodm, event = as.integer(!is.na(dodth)), age = dodm - dobth, sex = as.character(sex),
    year = dodm, insulin = as.integer(!is.na(doins) & doins <= dodm + 0.5))))
}
if (has("relsurv")) {
  people <- { data(colrec, package = "relsurv"); colrec }
  save("colrec", with(people, data.frame(
    time = time, event = stat, age = age / 365.241, sex = as.character(sex), stage = as.character(stage),
    site = as.character(site))))
}
