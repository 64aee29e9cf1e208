"""The tables of evalsite: agents, checkpoints, leaderboards, tournaments, matches and ratings."""

from matches.models.access import IdempotencyKey, Scope, TokenAccess
from matches.models.agent import Agent
from matches.models.attempt import Attempt, BegunMatch
from matches.models.audit import AuditRow
from matches.models.campaign import Alarm, Campaign, CampaignPoint
from matches.models.checkpoint import Checkpoint
from matches.models.imported import IMPORTED, ImportBatch, ImportedKey
from matches.models.leaderboard import Leaderboard
from matches.models.match import Match, Replacement, Seat, Voiding
from matches.models.order import Order
from matches.models.outcome import Outcome, ReplayCheck, Uncounted
from matches.models.rating import PairCount, Rating, RatingSnapshot, TeamCount
from matches.models.schedule import Schedule, ScheduleRun
from matches.models.score import Score
from matches.models.season import Season, SeasonRow
from matches.models.tournament import Entrant, Tournament
from matches.models.tournament_counts import EntrantCount, MeetingCount, TournamentCount
from matches.models.trajectory import TrajectoryPiece
from matches.models.usage import DayCost, NodeCost, NodeRun, SystemMinute
from matches.models.worker import NodeKey, RecorderMark, Worker

__all__ = [
    "IMPORTED",
    "Agent",
    "Alarm",
    "Attempt",
    "AuditRow",
    "BegunMatch",
    "Campaign",
    "CampaignPoint",
    "Checkpoint",
    "DayCost",
    "Entrant",
    "EntrantCount",
    "IdempotencyKey",
    "ImportBatch",
    "ImportedKey",
    "Leaderboard",
    "Match",
    "MeetingCount",
    "NodeCost",
    "NodeKey",
    "NodeRun",
    "Order",
    "Outcome",
    "PairCount",
    "Rating",
    "RatingSnapshot",
    "RecorderMark",
    "Replacement",
    "ReplayCheck",
    "Schedule",
    "ScheduleRun",
    "Scope",
    "Score",
    "Season",
    "SeasonRow",
    "Seat",
    "SystemMinute",
    "TeamCount",
    "TokenAccess",
    "Tournament",
    "TournamentCount",
    "TrajectoryPiece",
    "Uncounted",
    "Voiding",
    "Worker",
]
