# The image of a release: one static program in an empty image. scripts/release-image collects the
# files. It supports the clusters `sim` and `kubeconfig`; the others need more programs.
#
#   docker run --rm IMAGE run cases/rolling
#   docker run --rm -v "$PWD:/work" IMAGE run --subject command:./my-controller     a static program
FROM scratch
ARG TARGETARCH
COPY $TARGETARCH/ /
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/lockstep"]
