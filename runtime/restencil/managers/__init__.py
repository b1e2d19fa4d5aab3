"""Managers: what stands between a controller's operations and the store."""

from __future__ import annotations

from .base import Manager, Next
from .logout import LogoutManager
from .network import NetworkManager
from .subscription import AlwaysOnline, ConnectionListener, PollingSubscription, Subscription, SubscriptionManager

__all__ = [
    "AlwaysOnline",
    "ConnectionListener",
    "LogoutManager",
    "Manager",
    "NetworkManager",
    "Next",
    "PollingSubscription",
    "Subscription",
    "SubscriptionManager",
]
