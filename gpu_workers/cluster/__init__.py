"""The workers on many machines: the same ASGI apps as Ray Serve deployments. Needs `ray[serve]`, which nothing else
here does; `gpu_workers.cluster.applications` is what a Serve config file names.
"""
