"""A workbook whose formulas predict: values go into yellow cells, the curve and its chart follow.

Sheets: `Prediction` (values, the answer at a time, the chart), `Columns` (x, beta and their product for
each cause), `Curve` (one row for each edge), `Baseline` (A_s, and alpha of the strata), `Slopes` and
`Covariance` (intervals), `Levels` (what may be typed).

    phi = -log(1 - h),   L(u) = sum of phi over intervals ended by u,   dL/df = sum phi' z
    one event: S = exp(-L), limits exp(-L exp(+-1.96 se / L));   causes: P(none) = 1 / (1 + sum of o)

Only functions that Excel has had since 2007 and LibreOffice knows. Text of the schema is never a formula.
"""

import io
from typing import Any

import numpy as np

from discreet.design.covariates import Categorical, Numeric
from discreet.errors import SettingsError
from discreet.export.content import Content
from discreet.text import printable

LARGEST = 100_000
"""Most cells of the sheet `Slopes`; a larger model has its curve without limits."""
Z = 1.959963984540054
YELLOW, GREY = "FFF2CC", "D9D9D9"
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
    """The workbook."""
    try:
        import openpyxl  # noqa: PLC0415 - an extra
    except ImportError:
        raise SettingsError(
            "an Excel workbook needs openpyxl; install it with pip install 'discreet[files]'."
        ) from None
    book = openpyxl.Workbook()
    _Book(book, content).fill()
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _letter(column: int) -> str:
    from openpyxl.utils import get_column_letter  # noqa: PLC0415 - an extra

    return str(get_column_letter(column))


class _Book:
    """One workbook, sheet by sheet; each remembers where the next ones find its cells."""

    def __init__(self, book: Any, content: Content) -> None:
        self.book, self.content = book, content
        self.front = book.active
        self.front.title = "Prediction"
        self.intervals = len(content.edges) - 1
        size = len(content.names)
        known = content.covariance is not None and len(content.parts) == 1
        self.limits = known and size * (self.intervals + 1) <= LARGEST
        self.inputs: dict[str, str] = {}
        self.used: dict[str, str] = {}
        self.stratum = ""
        self.columns: list[str] = []

    def fill(self) -> None:
        """All sheets."""
        self._levels()
        row = self._words()
        row = self._values(row)
        self._columns()
        self._baseline()
        self._curve()
        if self.limits:
            self._covariance()
            self._slopes()
        self._answer(row)
        self._chart(row)

    # Cells

    def _text(self, sheet: Any, cell: str, value: str, *, bold: bool = False) -> None:
        """A text that no spreadsheet takes for a formula."""
        from openpyxl.styles import Font  # noqa: PLC0415 - an extra

        sheet[cell] = printable(value)
        sheet[cell].data_type = "s"
        if bold:
            sheet[cell].font = Font(bold=True)

    def _heading(self, sheet: Any, row: int, *names: str) -> None:
        from openpyxl.styles import PatternFill  # noqa: PLC0415 - an extra

        for column, name in enumerate(names, start=1):
            cell = f"{_letter(column)}{row}"
            self._text(sheet, cell, name, bold=True)
            sheet[cell].fill = PatternFill("solid", fgColor=GREY)

    def _yellow(self, cell: str, value: float | str) -> None:
        from openpyxl.styles import PatternFill  # noqa: PLC0415 - an extra

        if isinstance(value, str):
            self._text(self.front, cell, value)
        else:
            self.front[cell] = value
        self.front[cell].fill = PatternFill("solid", fgColor=YELLOW)

    # Sheets

    def _levels(self) -> None:
        """One column of levels for each category, and one for the strata."""
        sheet = self.book.create_sheet("Levels")
        strata = self.content.strata
        named = [item for item in self.content.covariates if isinstance(item, Categorical)]
        lists = [(item.name, item.levels) for item in named]
        lists += [] if strata is None else [(strata.name, strata.levels)]
        self.lists: list[str] = []
        for column, (name, levels) in enumerate(lists, start=1):
            letter = _letter(column)
            self._text(sheet, f"{letter}1", name, bold=True)
            for place, level in enumerate(levels, start=FIRST):
                self._text(sheet, f"{letter}{place}", level)
            last = FIRST + len(levels) - 1
            self.lists.append(f"Levels!${letter}${FIRST}:${letter}${last}")

    def _words(self) -> int:
        """Write the sentences on top; the next free row."""
        from openpyxl.styles import Alignment  # noqa: PLC0415 - an extra

        sheet = self.front
        for row, words in enumerate(self.content.words, start=1):
            self._text(sheet, f"A{row}", words, bold=row == 1)
            sheet.merge_cells(f"A{row}:F{row}")
            sheet[f"A{row}"].alignment = Alignment(wrap_text=True, vertical="top")
            sheet.row_dimensions[row].height = 15 * (1 + len(words) // 95)
        for letter, width in zip("ABCDEF", (32, 16, 14, 26, 14, 14), strict=True):
            sheet.column_dimensions[letter].width = width
        return len(self.content.words) + 2

    def _values(self, row: int) -> int:
        """The yellow cells, and what the model takes them for."""
        from openpyxl.worksheet.datavalidation import DataValidation  # noqa: PLC0415 - an extra

        sheet = self.front
        self._heading(sheet, row, "Covariate", "Value", "Used", "Allowed")
        lists = iter(self.lists)
        for item in self.content.covariates:
            row += 1
            cell, used = f"B{row}", f"C{row}"
            self._text(sheet, f"A{row}", item.title)
            self.inputs[item.name] = f"Prediction!$B${row}"
            self.used[item.name] = f"Prediction!$C${row}"
            if isinstance(item, Numeric):
                low, high = item.bounds
                self._yellow(cell, float(item.start))
                clipped = f"MIN(MAX({cell},{low!r}),{high!r})"
                sheet[used] = f"=IF({self._given(item, cell)},{clipped},{item.fill!r})"
                self._text(sheet, f"D{row}", f"{low:g} to {high:g}")
                continue
            self._menu(sheet, row, next(lists), item.levels[item.start], DataValidation)
        if self.content.strata is not None:
            row += 1
            self._text(sheet, f"A{row}", self.content.strata.title)
            self.stratum = f"Prediction!$C${row}"
            self._menu(sheet, row, next(lists), self.content.strata.levels[0], DataValidation)
            sheet[f"C{row}"] = f"=MAX(1,{str(sheet[f'C{row}'].value).removeprefix('=')})"
        return row + 2

    def _given(self, item: Numeric, cell: str) -> str:
        """A condition: the cell has a number that is not a code for a missing one."""
        codes = [f"{cell}<>{code!r}" for code in self.content.codes(item)]
        return f"AND({','.join([f'ISNUMBER({cell})', *codes])})"

    def _menu(self, sheet: Any, row: int, place: str, level: str, rule: Any) -> None:
        """A cell with a list of levels; what is used is the level's number, 0 if unknown."""
        self._yellow(f"B{row}", level)
        menu = rule(type="list", formula1=place, allow_blank=True, showErrorMessage=False)
        sheet.add_data_validation(menu)
        menu.add(f"B{row}")
        sheet[f"C{row}"] = f'=SUMPRODUCT(EXACT({place},B{row}&"")*(ROW({place})-{FIRST - 1}))'
        self._text(sheet, f"D{row}", "a level of the list")

    def _columns(self) -> None:
        """x, beta of each cause, and their products."""
        sheet = self.book.create_sheet("Columns")
        causes = [part.cause for part in self.content.parts]
        names = self.content.schema.coefficient_names
        self._heading(sheet, 1, "Coefficient", "x", *(f"beta {cause}".strip() for cause in causes))
        for row, (name, formula) in enumerate(zip(names, self._formulas(), strict=True), FIRST):
            self._text(sheet, f"A{row}", name)
            sheet[f"B{row}"] = formula
            for place, part in enumerate(self.content.parts, start=3):
                sheet[f"{_letter(place)}{row}"] = float(part.beta[row - FIRST])
        last = FIRST + len(names) - 1
        self.effects = []
        for place in range(len(causes)):
            letter = _letter(3 + place)
            total = (
                f"=SUMPRODUCT($B${FIRST}:$B${last},{letter}{FIRST}:{letter}{last})" if names else 0
            )
            sheet[f"{letter}{last + 2}"] = total
            self.effects.append(f"Columns!${letter}${last + 2}")
        self._text(sheet, f"A{last + 2}", "beta'x", bold=True)
        self.columns = [f"Columns!$B${row}" for row in range(FIRST, last + 1)]

    def _formulas(self) -> list[str]:
        """The formula of every column of x; each is a row of the sheet `Columns`."""
        formulas: list[str] = []
        blocks: dict[str, list[str]] = {}
        for item in self.content.covariates:
            used, start = self.used[item.name], len(formulas)
            if isinstance(item, Categorical):
                formulas += [f"=IF({used}={k},1,0)" for k in range(2, len(item.levels) + 1)]
                missing = f"=IF({used}=0,1,0)"
            else:
                formulas += self._number(item, used, FIRST + start)
                missing = f"=IF({self._given(item, self.inputs[item.name])},0,1)"
            blocks[item.name] = [f"B{FIRST + place}" for place in range(start, len(formulas))]
            if item.indicated:
                formulas.append(missing)
        for pair in self.content.interactions:
            one, other = (blocks[name] for name in pair.of)
            formulas += [f"={left}*{right}" for left in one for right in other]
        return formulas

    def _number(self, item: Numeric, used: str, row: int) -> list[str]:
        if item.knots is None:
            return [f"=LN({used})" if item.logarithmic else f"={used}"]
        low, high = item.bounds
        t, knots = f"$B${row}", np.linspace(0.0, 1.0, item.knots)[:-1]
        cubes = [f"MAX({t}-{float(k)!r},0)^3/{1.0 - float(k)!r}" for k in knots]
        return [f"=({used}-{low!r})/({high - low!r})", *(f"={c}-{cubes[-1]}" for c in cubes[:-1])]

    def _baseline(self) -> None:
        """A_s in the first columns; below, alpha of each stratum and cause."""
        sheet = self.book.create_sheet("Baseline")
        size = self.content.baseline.dimension
        self._heading(sheet, 1, "Interval", *(f"A{k}" for k in range(1, size + 1)))
        for row, values in enumerate(self.content.basis, start=FIRST):
            sheet.cell(row, 1, row - FIRST + 1)
            for column, value in enumerate(values, start=2):
                sheet.cell(row, column, float(value))
        row = FIRST + self.intervals + 1
        first, last = _letter(2), _letter(size + 1)
        self.alphas = []
        for part in self.content.parts:
            self._text(sheet, f"A{row}", f"alpha {part.cause}".strip(), bold=True)
            top = row + 1
            for place, alpha in enumerate(part.alpha, start=top):
                self._text(sheet, f"A{place}", self._stratum_name(place - top))
                for column, value in enumerate(alpha, start=2):
                    sheet.cell(place, column, float(value))
            row = top + len(part.alpha) + 1
            block = f"Baseline!${first}${top}:${last}${row - 2}"
            self.alphas.append(f"INDEX({block},{self.stratum or 1},0)")
        self.basis = (first, last)

    def _stratum_name(self, place: int) -> str:
        return "" if self.content.strata is None else self.content.strata.levels[place]

    def _curve(self) -> None:
        """One row for each edge: predictors, losses or odds, survival, limits or incidences."""
        sheet, parts = self.book.create_sheet("Curve"), self.content.parts
        first, last = self.basis
        headings = ["Time", *(f"eta {part.cause}".strip() for part in parts)]
        headings += [f"phi {part.cause}".strip() for part in parts]
        if len(parts) == 1:
            headings += ["L", "Survival"] + (["slope", "se of L", "Lower", "Upper"] * self.limits)
        else:
            headings += ["L", "No event", *(f"Incidence {part.cause}" for part in parts)]
        self._heading(sheet, 1, *headings)
        self.place = {name: _letter(column) for column, name in enumerate(headings, start=1)}
        count = len(parts)
        for row in range(FIRST, FIRST + self.intervals + 1):
            sheet.cell(row, 1, float(self.content.edges[row - FIRST]))
            start = row == FIRST
            for place in range(count if not start else 0):
                eta, phi = (f"{_letter(column + place)}{row}" for column in (2, 2 + count))
                basis = f"Baseline!${first}{row - 1}:${last}{row - 1}"
                sheet[eta] = f"=SUMPRODUCT({basis},{self.alphas[place]})+{self.effects[place]}"
                sheet[phi] = "=" + LOSS[self.content.link].format(eta=eta)
            total, alive = (f"{_letter(2 + 2 * count + k)}{row}" for k in (0, 1))
            losses = [f"{_letter(2 + count + place)}{row}" for place in range(count)]
            before = f"{_letter(2 + 2 * count)}{row - 1}"
            step = losses[0] if count == 1 else f"LN(1+{'+'.join(f'EXP({x})-1' for x in losses)})"
            sheet[total] = 0 if start else f"={before}+{step}"
            sheet[alive] = f"=EXP(-{total})"
            if count > 1:
                for place in range(count):
                    letter = _letter(4 + 2 * count + place)
                    grown = f"={letter}{row - 1}+{alive}*(EXP({losses[place]})-1)"
                    sheet[f"{letter}{row}"] = 0 if start else grown
            elif self.limits:
                self._limits_of(sheet, row, total, start=start)

    def _limits_of(self, sheet: Any, row: int, total: str, *, start: bool) -> None:
        slope, error, lower, upper = (
            f"{self.place[name]}{row}" for name in ("slope", "se of L", "Lower", "Upper")
        )
        if start:
            sheet[lower], sheet[upper] = 1, 1
            return
        last = _letter(len(self.content.names))
        own = f"Slopes!$A{row}:${last}{row}"
        size = len(self.content.names)
        sheet[slope] = "=" + SLOPE[self.content.link].format(eta=f"B{row}")
        matrix = f"Covariance!$A$1:${last}${size}"
        sheet[error] = f"=SQRT(MAX(0,SUMPRODUCT(MMULT({own},{matrix}),{own})))"
        factor = f"EXP(MIN(700,{Z!r}*{error}/{total}))"
        sheet[lower] = f"=EXP(-{total}*{factor})"
        sheet[upper] = f"=EXP(-{total}/{factor})"

    def _covariance(self) -> None:
        sheet = self.book.create_sheet("Covariance")
        for row in np.asarray(self.content.covariance):
            sheet.append([float(value) for value in row])

    def _slopes(self) -> None:
        """dL/df at every edge: running sums of phi' A_s for the stratum's baseline, and of phi' x."""
        sheet, slope = self.book.create_sheet("Slopes"), self.place["slope"]
        size, strata = self.content.baseline.dimension, len(self.content.parts[0].alpha)
        for column, name in enumerate(self.content.names, start=1):
            self._text(sheet, f"{_letter(column)}1", name, bold=True)
        for row in range(FIRST, FIRST + self.intervals + 1):
            for column in range(1, len(self.content.names) + 1):
                letter, phi = _letter(column), f"Curve!${slope}{row}"
                if row == FIRST:
                    sheet[f"{letter}{row}"] = 0
                    continue
                if column <= size * strata:
                    stratum, place = divmod(column - 1, size)
                    value = f"Baseline!${_letter(place + 2)}{row - 1}"
                    own = f"*({self.stratum}={stratum + 1})" if self.stratum else ""
                else:
                    value, own = self.columns[column - 1 - size * strata], ""
                sheet[f"{letter}{row}"] = f"={letter}{row - 1}+{phi}*{value}{own}"

    def _answer(self, row: int) -> None:
        """The curve's values at a time of the reader's choice."""
        sheet, last = self.front, FIRST + self.intervals
        self._text(sheet, f"A{row}", self.content.schema.time.axis_label.capitalize(), bold=True)
        self._yellow(f"B{row}", float(self.content.edges[-1]))
        times = f"Curve!$A${FIRST}:$A${last}"
        names = [name for name in self.place if name in {"Survival", "No event", "Lower", "Upper"}]
        names += [name for name in self.place if name.startswith("Incidence ")]
        for place, name in enumerate(names, start=row + 1):
            letter = self.place[name]
            self._text(sheet, f"A{place}", name)
            values = f"Curve!${letter}${FIRST}:${letter}${last}"
            sheet[f"B{place}"] = f"=INDEX({values},MATCH($B${row},{times},1))"
            sheet[f"B{place}"].number_format = "0.0%"
        if not self.limits:
            why = "causes have" if len(self.content.parts) > 1 else "a model of this size has"
            if self.content.covariance is None:
                why = "a model without a covariance has"
            self._text(sheet, f"A{row + len(names) + 1}", f"In a workbook {why} no limits.")

    def _chart(self, row: int) -> None:
        """Survival with its limits, or the incidences."""
        from openpyxl.chart import Reference, ScatterChart, Series  # noqa: PLC0415 - an extra

        chart, sheet = ScatterChart(), self.book["Curve"]
        chart.style, chart.height, chart.width = 13, 9, 18
        chart.x_axis.title = printable(self.content.schema.time.axis_label)
        chart.y_axis.scaling.min, chart.y_axis.scaling.max = 0, 1
        chart.x_axis.scaling.min = float(self.content.edges[0])
        chart.x_axis.scaling.max = float(self.content.edges[-1])
        chart.x_axis.delete = chart.y_axis.delete = False
        chart.y_axis.number_format = "0%"
        last = FIRST + self.intervals
        times = Reference(sheet, min_col=1, min_row=FIRST, max_row=last)
        for column, name in enumerate(self.place, start=1):
            if name in {"Survival", "No event", "Lower", "Upper"} or name.startswith("Incidence "):
                values = Reference(sheet, min_col=column, min_row=1, max_row=last)
                series = Series(values, times, title_from_data=True)
                series.marker.symbol, series.smooth = "none", False
                chart.series.append(series)
                if name in {"Lower", "Upper"}:
                    series.graphicalProperties.line.dashStyle = "dash"
        self.front.add_chart(chart, f"A{row + 8 + len(self.content.parts)}")
