"""What runs beside the requests, in threads of app.py, which draws how they work together.

    To change                                        open
    when a synchronisation starts, the child process nightly.py
    which calls count as a view, how they are batched views.py
    what /health finds wrong                         health.py
    what an alert says, and when                     alerts.toml, alerts.py
    what app.py --doctor looks at                    doctor.py

They import settings.py, model.py, store/ and each other; none reads a page of the register.
"""
