# dislab in a container, for CPUs (the default) or NVIDIA cards. In a clone of dislab:
#
#   docker build --tag dislab .                                          # CPU
#   docker build --tag dislab:cuda --build-arg DEVICE=cuda .             # cards; run with --gpus all
#   docker run --rm --volume "$PWD":/work dislab fit --config factorvae
#
# docs/install.md explains the arguments.
ARG PYTHON=3.11
FROM python:${PYTHON}-slim

# cpu or cuda: PyTorch's usual wheel for Linux on x86-64 brings CUDA's libraries; the card's driver
# comes from the host
ARG DEVICE=cpu
# address of an index with CPU builds of PyTorch, several gigabytes smaller; pip's own index without it
ARG TORCH_INDEX=
# extras of dislab, such as [ray,parquet]
ARG EXTRAS=

ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    MPLBACKEND=Agg \
    MPLCONFIGDIR=/tmp/matplotlib \
    DISLAB_CACHE=/cache \
    HOME=/tmp

# torch in a layer of its own: it is the largest, and changes least
COPY constraints/cpu.txt /tmp/cpu.txt
RUN case "$DEVICE" in \
      cpu) pip install --constraint /tmp/cpu.txt ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch ;; \
      cuda) pip install "torch>=2.11" ;; \
      *) echo "DEVICE is $DEVICE; it must be cpu or cuda" >&2; exit 2 ;; \
    esac

COPY pyproject.toml README.md LICENSE /src/
COPY configs /src/configs
COPY src /src/src
RUN pip install "/src${EXTRAS}" && rm -r /src

# results belong to the user who starts the container with --user "$(id -u):$(id -g)"
RUN mkdir --mode=777 /cache /work
WORKDIR /work
USER 1000:1000
ENTRYPOINT ["dislab"]
CMD ["--help"]
