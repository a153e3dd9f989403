# The image of a release: one static program on nothing. scripts/release-image gathers what is
# copied. It has the clusters `sim` and `kubeconfig`; the others need programs that are not in here.
#
#   docker run --rm IMAGE run cases/rolling
#   docker run --rm -v "$PWD:/work" IMAGE run --subject command:./my-controller     a static program
FROM scratch
ARG TARGETARCH
COPY $TARGETARCH/ /
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/lockstep"]
