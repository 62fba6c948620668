"""What runs beside the requests, each in a thread of app.py, which draws how they work together.

    To change                                        open
    when a synchronisation starts, the child process nightly.py
    which calls count as a view, how they are batched views.py
    what /health finds wrong                         health.py
    what an alert says, and when                     alerts.py

Each imports settings.py, model.py and store/; none knows a request or a page.
"""
