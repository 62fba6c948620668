"""What runs beside the requests, each in a thread of app.py.

    clock, trigger --nightly.py--> sync.py, a child process
    /api/track ----views.py: in memory--each second--> SQLite
    both, and the last run --health.py--> /health;  --alerts.py--> ALERT_URL, PING_URL

    To change                                        open
    when a synchronisation starts, the child process nightly.py
    which calls count as a view, how they are batched views.py
    what /health finds wrong                         health.py
    what an alert says, and when                     alerts.py

Each imports settings.py, model.py and store/; none knows a request or a page.
"""
