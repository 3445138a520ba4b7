"""Privacy bugs of joint releases; `tests/mechanisms/test_seeded_bugs.py` plants them."""

from discreet import joint, release
from discreet.core.split import Split
from discreet.engine.federation import FederatedEngine
from discreet.federation.mesh import Mesh
from discreet.mechanisms.group_counts import GroupCounts
from discreet.privacy.shared_noise import SharedNoise
from discreet.privacy.shares import NoiseShares
from tests.federation import joint_checks as checks
from tests.mechanisms.bugs import Bug

JOINT_BUGS = [
    Bug(
        "shares of the noise as if no site colluded",
        NoiseShares,
        "share",
        "Fraction(1, self.honest)",
        "Fraction(1, self.sites)",
        checks.check_honest_noise_has_the_scale_of_the_plan,
    ),
    Bug(
        "plain sums opened, the noise of a share added to nothing",
        SharedNoise,
        "discrete_gaussian",
        "self._opening(masked)",
        "self._opening(integers)",
        checks.check_only_noisy_sums_are_opened,
    ),
    Bug(
        "standard errors count the noise of the honest sites alone",
        Split,
        "deviation",
        "self.sites.excess",
        "1.0",
        checks.check_deviations_count_the_noise_of_all_sites,
    ),
    Bug(
        "a sum of discrete Gaussians charged as one",
        NoiseShares,
        "spendable",
        "return rho * (1 - SET_ASIDE)",
        "return rho",
        checks.check_the_law_of_the_sum_is_paid_for,
    ),
    Bug(
        "sites sum without comparing what they were asked",
        FederatedEngine,
        "reduce",
        "self.compare(question(function, arguments))",
        'self.compare(b"")',
        checks.check_questions_are_compared_bit_by_bit,
    ),
    Bug(
        "any certificate passes for a site's",
        Mesh,
        "admit",
        "known.get(der)",
        "known.get(der, 0)",
        checks.check_only_listed_sites_are_admitted_and_once,
    ),
    Bug(
        "a second connection takes the place of the first",
        Mesh,
        "admit",
        "party in self._connections or",
        "",
        checks.check_only_listed_sites_are_admitted_and_once,
    ),
    Bug(
        "sums leave before the other sites are charged",
        joint,
        "_draw_together",
        'mesh.exchange(b"charged")',
        "mesh.sites",
        checks.check_everybody_is_charged_before_a_sum_leaves,
    ),
    Bug(
        "a joint draw without the permit that its charge gives",
        release,
        "publish",
        "reservation.authorise_draw()",
        "pass",
        checks.check_a_joint_charge_pays_for_one_draw,
    ),
    Bug(
        "a site joins with other people than it counted",
        joint,
        "_own_people",
        "require_number(engine, own)",
        "pass",
        checks.check_a_site_has_the_people_it_counted,
    ),
    Bug(
        "opened integers counted vector by vector",
        SharedNoise,
        "discrete_gaussian",
        "self._opened += len(integers)",
        "self._opened = len(integers)",
        checks.check_opened_integers_are_counted_together,
    ),
    Bug(
        "a sum of discrete Gaussians charged as one, in curves",
        GroupCounts,
        "_split",
        "sites.spendable(promise.exact_rho)",
        "promise.exact_rho",
        checks.check_the_law_of_the_sum_is_paid_for_in_curves,
    ),
]
