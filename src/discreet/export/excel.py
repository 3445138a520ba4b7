"""A workbook whose formulas predict: values go into yellow cells, the curve and its chart follow.

Sheets: `Prediction` (values, the answer at a time, the chart), `Columns` (x of each effect, the intervals
in which it is in force, beta of each cause), `Curve` (one row for each edge), `Chart` (its steps),
`Baseline` (A_s, and alpha of the strata), `Slopes` and `Covariance` (intervals), `Levels` (what may be
typed).

    phi = -log(1 - h),   L(u) = sum of phi over intervals ended by u,   dL/df = sum phi' z
    one event: S = exp(-L), limits exp(-L exp(+-1.96 se / L));   causes: P(none) = 1 / (1 + sum of o)

Only functions that Excel has had since 2007 and LibreOffice knows. Text of the schema is never a formula.
"""

import io
from typing import Any

import numpy as np
from openpyxl import Workbook
from openpyxl.chart import Reference, ScatterChart, Series
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation

from discreet.design.covariates import Categorical, Numeric, Strata
from discreet.design.declared import level_key, parse_number
from discreet.export.content import Content
from discreet.text import printable

LARGEST = 100_000
"""Most cells of the sheet `Slopes`; a larger model has its curve without limits."""
Z = 1.959963984540054
YELLOW, GREY = "FFF2CC", "D9D9D9"
COLOURS = ("0072B2", "D55E00", "009E73", "CC79A7", "56B4E9", "E69F00")
FIRST = 2
"""Row of the first entry of every sheet but `Prediction`."""
LOSS = {
    "logit": "MAX({eta},0)+LN(1+EXP(-ABS({eta})))",
    "cloglog": "EXP({eta})",
    "probit": "-LN(NORMSDIST(-{eta}))",
}
SLOPE = {  # in a spreadsheet -x^2 is (-x)^2
    "logit": "1/(1+EXP(-{eta}))",
    "cloglog": "EXP({eta})",
    "probit": "EXP(-({eta}^2)/2)/SQRT(2*PI())/NORMSDIST(-{eta})",
}


def write(content: Content) -> bytes:
    """Return the workbook."""
    book = Workbook()
    _Book(book, content).fill()
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _number(value: float) -> str:
    return repr(float(value)).upper()


def _within(first: str, last: str, interval: int) -> str:
    """Return a formula: 1 if first <= interval <= last, else 0."""
    return f"({first}<={interval})*({last}>={interval})"


class _Book:
    """One workbook, sheet by sheet; each remembers where the next ones find its cells."""

    def __init__(self, book: Any, content: Content) -> None:
        self.book, self.content = book, content
        self.front = book.active
        self.front.title = "Prediction"
        self.intervals = len(content.edges) - 1
        self.last = FIRST + self.intervals
        size = len(content.names)
        known = content.covariance is not None and len(content.parts) == 1
        self.limits = known and size * (self.intervals + 1) <= LARGEST
        self.inputs: dict[str, str] = {}
        self.used: dict[str, str] = {}
        self.stratum = ""
        self.menus = 0

    def fill(self) -> None:
        """Write all sheets; those for reading come first."""
        row = self._words()
        row = self._values(row)
        self._columns()
        self._baseline()
        self._curve()
        if self.limits:
            covariance = self.book.create_sheet("Covariance")
            for values in np.asarray(self.content.covariance):
                covariance.append([float(value) for value in values])
            self._slopes()
        row = self._answer(row)
        for (cell,) in self.front[f"D1:D{row}"]:
            cell.alignment = Alignment(horizontal="left", indent=1)  # else there is no indent
        self._chart(row)

    # Cells

    def _text(self, sheet: Any, cell: str, value: str, *, bold: bool = False) -> None:
        """Write a text that no spreadsheet takes for a formula."""
        sheet[cell] = printable(value)
        sheet[cell].data_type = "s"
        if bold:
            sheet[cell].font = Font(bold=True)

    def _heading(self, sheet: Any, row: int, *names: str) -> None:
        for column, name in enumerate(names, start=1):
            cell = f"{get_column_letter(column)}{row}"
            self._text(sheet, cell, name, bold=True)
            sheet[cell].fill = PatternFill("solid", fgColor=GREY)

    def _yellow(self, cell: str, value: float | str) -> None:
        if isinstance(value, str):
            self._text(self.front, cell, value)
        else:
            self.front[cell] = value
        self.front[cell].fill = PatternFill("solid", fgColor=YELLOW)

    # Sheets

    def _words(self) -> int:
        """Write the sentences on top; return the next free row."""
        sheet = self.front
        for row, words in enumerate(self.content.words, start=1):
            self._text(sheet, f"A{row}", words, bold=row == 1)
            sheet.merge_cells(f"A{row}:F{row}")
            sheet[f"A{row}"].alignment = Alignment(wrap_text=True, vertical="top")
            sheet.row_dimensions[row].height = 15 * (1 + len(words) // 95)
        for letter, width in zip("ABCDEF", (32, 16, 14, 26, 14, 14), strict=True):
            sheet.column_dimensions[letter].width = width
        sheet.sheet_properties.pageSetUpPr.fitToPage = True
        sheet.page_setup.fitToHeight = 0
        return len(self.content.words) + 2

    def _values(self, row: int) -> int:
        """Write the yellow cells, and the values that the model takes them for."""
        sheet = self.front
        levels = self.book.create_sheet("Levels")
        self._heading(sheet, row, "Covariate", "Value", "Used", "Range or meaning")
        for item in self.content.schema.covariates:
            row += 1
            cell, used = f"B{row}", f"C{row}"
            self._text(sheet, f"A{row}", item.title)
            self.inputs[item.name] = f"Prediction!$B${row}"
            self.used[item.name] = f"Prediction!$C${row}"
            if isinstance(item, Categorical):
                sheet[used] = "=" + self._menu(levels, row, item, item.levels[item.typical_value])
                continue
            low, high = item.bounds
            self._yellow(cell, float(item.typical_value))
            clipped = f"MIN(MAX({cell},{_number(low)}),{_number(high)})"
            sheet[used] = f"=IF({self._given(item, cell)},{clipped},{_number(item.fill)})"
            self._text(sheet, f"D{row}", f"{low:g} to {high:g}")
        strata = self.content.schema.strata
        if strata is not None:
            row += 1
            self._text(sheet, f"A{row}", strata.title)
            self.stratum = f"Prediction!$C${row}"
            sheet[f"C{row}"] = f"=MAX(1,{self._menu(levels, row, strata, strata.levels[0])})"
        return row + 2

    def _given(self, item: Numeric, cell: str) -> str:
        """Return a condition: the cell has a number that is not a code for a missing one."""
        codes = [f"{cell}<>{_number(code)}" for code in self.content.codes(item)]
        return f"AND({','.join([f'ISNUMBER({cell})', *codes])})"

    def _menu(self, levels: Any, row: int, item: Categorical | Strata, level: str) -> str:
        """Write a cell with a list of levels; return the formula of the level's number, 0 if unknown.

        A spreadsheet makes a number of 1.0 and a truth value of true, also where they are chosen from
        a list: beside its text each level has the number that it spells.
        """
        start = 1 + 3 * self.menus
        self.menus += 1
        for column, heading in enumerate((item.name, "number", "meaning"), start):
            self._text(levels, f"{get_column_letter(column)}1", heading, bold=True)
        text, number, meaning = (get_column_letter(start + k) for k in range(3))
        for place, (name, shown) in enumerate(
            zip(item.levels, item.level_titles, strict=True), FIRST
        ):
            self._text(levels, f"{text}{place}", name)
            self._text(levels, f"{meaning}{place}", shown)
            spelt = parse_number(level_key(name))
            if spelt is None or not np.isfinite(spelt):
                self._text(levels, f"{number}{place}", "-")
            else:
                levels[f"{number}{place}"] = spelt
        last = FIRST + len(item.levels) - 1
        texts, numbers, meanings = (
            f"Levels!${letter}${FIRST}:${letter}${last}" for letter in (text, number, meaning)
        )
        cell, used = f"B{row}", f"C{row}"
        self._yellow(cell, level)
        menu = DataValidation(type="list", formula1=texts, allow_blank=True, showErrorMessage=False)
        self.front.add_data_validation(menu)
        menu.add(cell)
        self.front[f"D{row}"] = (
            f'=IF({used}=0,"unknown or missing",INDEX({meanings},MAX({used},1)))'
        )
        typed = f'IF(ISLOGICAL({cell}),IF({cell},1,0),IF(ISNUMBER({cell}),{cell},"?"))'
        same = f'EXACT({texts},{cell}&"")+({numbers}={typed})>0'
        return f"SUMPRODUCT(({same})*(ROW({texts})-{FIRST - 1}))"

    def _columns(self) -> None:
        """x of each effect, the intervals in which it is in force, and beta of each cause."""
        sheet, periods = self.book.create_sheet("Columns"), self.content.periods
        causes = [part.cause for part in self.content.parts]
        names = self.content.schema.coefficient_names
        betas = (f"beta {cause}".strip() for cause in causes)
        self._heading(sheet, 1, "Coefficient", "x", "first interval", "last interval", *betas)
        self.rows = FIRST + periods.places[0]
        formulas = self._formulas()
        for row, (name, column, *stretch) in enumerate(
            zip(names, periods.column_of, *periods.stretches, strict=True), FIRST
        ):
            top = self.rows[column]
            self._text(sheet, f"A{row}", name)
            sheet[f"B{row}"] = formulas[column] if row == top else f"=B{top}"
            beta = [float(part.beta[row - FIRST]) for part in self.content.parts]
            for place, value in enumerate([*map(int, stretch), *beta], start=3):
                sheet.cell(row, place, value)

    def _formulas(self) -> list[str]:
        """Return the formula of every column of x, in the row of its first effect."""
        formulas: list[str] = []
        blocks: dict[str, list[str]] = {}
        for item in self.content.schema.covariates:
            used, start = self.used[item.name], len(formulas)
            if isinstance(item, Categorical):
                formulas += [f"=IF({used}={k},1,0)" for k in range(2, len(item.levels) + 1)]
                missing = f"=IF({used}=0,1,0)"
            else:
                if item.knots is None:
                    formulas += [f"=LN({used})" if item.logarithmic else f"={used}"]
                else:
                    low, high = item.bounds
                    t = f"$B${self.rows[start]}"
                    knots = np.linspace(0.0, 1.0, item.knots)[:-1]
                    cubes = [f"MAX({t}-{_number(k)},0)^3/{_number(1.0 - k)}" for k in knots]
                    formulas.append(f"=({used}-{_number(low)})/({_number(high - low)})")
                    formulas += [f"={cube}-{cubes[-1]}" for cube in cubes[:-1]]
                missing = f"=IF({self._given(item, self.inputs[item.name])},0,1)"
            blocks[item.name] = [f"B{row}" for row in self.rows[start : len(formulas)]]
            if item.indicated:
                formulas.append(missing)
        for pair in self.content.schema.interactions:
            one, other = (blocks[name] for name in pair.of)
            formulas += [f"={left}*{right}" for left in one for right in other]
        return formulas

    def _baseline(self) -> None:
        """Write A_s in the first columns; below, alpha of each stratum and cause."""
        sheet, strata = self.book.create_sheet("Baseline"), self.content.schema.strata
        size = self.content.design.baseline.dimension
        self._heading(sheet, 1, "Interval", *(f"A{k}" for k in range(1, size + 1)))
        for number, values in enumerate(self.content.basis, start=1):
            sheet.append([number, *map(float, values)])
        row = self.last + 1
        first, last = get_column_letter(2), get_column_letter(size + 1)
        self.alphas = []
        for part in self.content.parts:
            self._text(sheet, f"A{row}", f"alpha {part.cause}".strip(), bold=True)
            top = row + 1
            for place, alpha in enumerate(part.alpha):
                self._text(sheet, f"A{top + place}", "" if strata is None else strata.levels[place])
                for column, value in enumerate(alpha, start=2):
                    sheet.cell(top + place, column, float(value))
            row = top + len(part.alpha) + 1
            block = f"Baseline!${first}${top}:${last}${row - 2}"
            self.alphas.append(f"INDEX({block},{self.stratum or 1},0)")
        self.basis = (first, last)

    def _curve(self) -> None:
        """Write a row for each edge: predictors, losses or odds, survival, limits or incidences."""
        sheet, parts = self.book.create_sheet("Curve"), self.content.parts
        first, last = self.basis
        count = len(parts)
        headings = ["Time", *(f"eta {part.cause}".strip() for part in parts)]
        headings += [f"phi {part.cause}".strip() for part in parts]
        if count == 1:
            shown = ["Survival", *(["Lower", "Upper"] if self.limits else [])]
            headings += ["L", "Survival", *(["slope", "se of L", "Lower", "Upper"] * self.limits)]
        else:
            shown = ["No event", *(f"Incidence {part.cause}" for part in parts)]
            headings += ["L", *shown]
        self._heading(sheet, 1, *headings)
        self.place = {name: get_column_letter(at) for at, name in enumerate(headings, start=1)}
        self.shown = shown
        for row in range(FIRST, self.last + 1):
            sheet.cell(row, 1, float(self.content.edges[row - FIRST]))
            total, alive = (f"{get_column_letter(2 + 2 * count + k)}{row}" for k in (0, 1))
            sheet[alive] = f"=EXP(-{total})"
            if row == FIRST:
                sheet[total] = 0
                for name in shown[1:]:
                    sheet[f"{self.place[name]}{row}"] = 0 if count > 1 else 1
                continue
            losses = [f"{get_column_letter(2 + count + place)}{row}" for place in range(count)]
            for place, phi in enumerate(losses):
                eta = f"{get_column_letter(2 + place)}{row}"
                basis = f"Baseline!${first}{row - 1}:${last}{row - 1}"
                effect, effects = "", parts[place].beta.size
                if effects:  # x times beta, of the effects in force in the interval
                    x, start, stop, beta = (
                        f"Columns!${letter}${FIRST}:${letter}${effects + FIRST - 1}"
                        for letter in ("B", "C", "D", get_column_letter(5 + place))
                    )
                    force = _within(start, stop, row - FIRST)
                    effect = f"+SUMPRODUCT({x},{beta},{force})"
                sheet[eta] = f"=SUMPRODUCT({basis},{self.alphas[place]}){effect}"
                sheet[phi] = "=" + LOSS[self.content.link].format(eta=eta)
            step = losses[0] if count == 1 else f"LN(1+{'+'.join(f'EXP({x})-1' for x in losses)})"
            sheet[total] = f"={self.place['L']}{row - 1}+{step}"
            for name, loss in zip(shown[1:], losses if count > 1 else (), strict=False):
                letter = self.place[name]
                sheet[f"{letter}{row}"] = f"={letter}{row - 1}+{alive}*(EXP({loss})-1)"
            if self.limits:
                slope, error, lower, upper = (
                    f"{self.place[name]}{row}" for name in ("slope", "se of L", "Lower", "Upper")
                )
                size = len(self.content.names)
                end = get_column_letter(size)
                own, matrix = f"Slopes!$A{row}:${end}{row}", f"Covariance!$A$1:${end}${size}"
                sheet[slope] = "=" + SLOPE[self.content.link].format(eta=f"B{row}")
                sheet[error] = f"=SQRT(MAX(0,SUMPRODUCT(MMULT({own},{matrix}),{own})))"
                factor = f"EXP(MIN(700,{Z!r}*{error}/{total}))"
                sheet[lower] = f"=EXP(-{total}*{factor})"
                sheet[upper] = f"=EXP(-{total}/{factor})"

    def _slopes(self) -> None:
        """Write dL/df at every edge: running sums of phi' A_s of the stratum, and of phi' x in force."""
        sheet, slope = self.book.create_sheet("Slopes"), self.place["slope"]
        size, strata = self.content.design.baseline.dimension, len(self.content.parts[0].alpha)
        for column, name in enumerate(self.content.names):
            letter = get_column_letter(column + 1)
            self._text(sheet, f"{letter}1", name, bold=True)
            sheet[f"{letter}{FIRST}"] = 0
            for row in range(FIRST + 1, self.last + 1):
                value, own = "", ""
                if column >= size * strata:
                    at = FIRST + column - size * strata
                    value = f"Columns!$B${at}"
                    own = "*" + _within(f"Columns!$C${at}", f"Columns!$D${at}", row - FIRST)
                else:
                    stratum, place = divmod(column, size)
                    value = f"Baseline!${get_column_letter(place + 2)}{row - 1}"
                    own = f"*({self.stratum}={stratum + 1})" if self.stratum else ""
                sheet[f"{letter}{row}"] = f"={letter}{row - 1}+Curve!${slope}{row}*{value}{own}"

    def _answer(self, row: int) -> int:
        """Write the curve's values at a time of the reader's choice; return the next free row."""
        sheet, edges = self.front, self.content.edges
        time, times = f"$B${row}", f"Curve!$A${FIRST}:$A${self.last}"
        self._text(sheet, f"A{row}", self.content.schema.time.axis_label.capitalize(), bold=True)
        self._yellow(f"B{row}", float(edges[-1]))
        self._text(sheet, f"D{row}", f"{edges[0]:g} to {edges[-1]:g}")
        within = f"AND(ISNUMBER({time}),{time}>={_number(edges[0])},{time}<={_number(edges[-1])})"
        for name in self.shown:
            row += 1
            self._text(sheet, f"A{row}", name)
            letter = self.place[name]
            values = f"Curve!${letter}${FIRST}:${letter}${self.last}"
            sheet[f"B{row}"] = f'=IF({within},INDEX({values},MATCH({time},{times},1)),"?")'
            sheet[f"B{row}"].number_format = "0.0%"
        if not self.limits:
            row += 1
            why = "causes have" if len(self.content.parts) > 1 else "a model of this size has"
            if self.content.covariance is None:
                why = "a model without a covariance has"
            self._text(sheet, f"A{row}", f"In a workbook {why} no limits.")
        return row + 2

    def _chart(self, row: int) -> None:
        """Draw survival with its limits, or the incidences, as steps."""
        sheet = self.book.create_sheet("Chart")
        self._heading(sheet, 1, "Time", *self.shown)
        # (a_0, S_0), (a_1, S_0), (a_1, S_1), ...: a step is two points
        ends = [(FIRST, FIRST)]
        for edge in range(FIRST + 1, self.last + 1):
            ends += [(edge, edge - 1), (edge, edge)]
        for time, value in ends:
            places = [f"=Curve!${self.place[name]}${value}" for name in self.shown]
            sheet.append([f"=Curve!$A${time}", *places])
        chart = ScatterChart()
        chart.style, chart.height, chart.width = 13, 9, 18
        chart.legend.position = "b"
        chart.x_axis.title = printable(self.content.schema.time.axis_label)
        chart.y_axis.title = "Probability"
        chart.y_axis.scaling.min, chart.y_axis.scaling.max = 0, 1
        chart.x_axis.scaling.min = float(self.content.edges[0])
        chart.x_axis.scaling.max = float(self.content.edges[-1])
        chart.x_axis.delete = chart.y_axis.delete = False
        chart.x_axis.majorGridlines = None
        chart.y_axis.majorGridlines.spPr = _line("D9D9D9", 6_000)
        chart.y_axis.number_format = "0%"
        times = Reference(sheet, min_col=1, min_row=FIRST, max_row=1 + len(ends))
        for column, name in enumerate(self.shown, start=2):
            values = Reference(sheet, min_col=column, min_row=1, max_row=1 + len(ends))
            series = Series(values, times, title_from_data=True)
            series.marker.symbol, series.smooth = "none", False
            limit = name in {"Lower", "Upper"}
            colour = COLOURS[0 if limit else (column - 2) % len(COLOURS)]
            series.graphicalProperties = _line(colour, 9_000 if limit else 22_000)
            series.graphicalProperties.line.dashStyle = "dash" if limit else "solid"
            chart.series.append(series)
        self.front.add_chart(chart, f"A{row}")


def _line(colour: str, width: int) -> Any:
    """Return a line of a chart; 12,700 units of its width are a point."""
    shape = GraphicalProperties()
    shape.line.solidFill, shape.line.width = colour, width
    return shape
