import { describe, expect, it } from 'vitest'
import { dockerContainerOf, imageDigestOf, podmanImageOf } from './container.ts'

const HEX = '0123456789abcdef'.repeat(4)

describe('the image of a container', () => {
  it.each([
    [`sha256:${HEX}`, `sha256:${HEX}`],
    [`rocm/pytorch@sha256:${HEX}`, `sha256:${HEX}`],
    [`"sha256:${HEX}"\n`, `sha256:${HEX}`],
    [HEX, `sha256:${HEX}`],
    [`sha256:${HEX}0`, undefined],
    [`sha256:${HEX.slice(1)}`, undefined],
    ['rocm/pytorch:latest', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%s → %s', (text, expected) => expect(imageDigestOf(text)).toBe(expected))

  it('is told by podman, when it tells', () => {
    const text = `engine="podman-4.9.3"\nname="bench"\nid="${'a'.repeat(64)}"\nimage="docker.io/rocm/pytorch:rocm7.0"\nimageid="${HEX}"\nrootless=1\n`
    expect(podmanImageOf(text)).toBe(`sha256:${HEX}`)
    expect(podmanImageOf('')).toBeUndefined()
  })

  it('of Docker is asked for by the id in its mounts', () => {
    const mounts = `1 2 0:3 / / rw - overlay overlay rw\n9 8 8:1 /var/lib/docker/containers/${HEX}/resolv.conf /etc/resolv.conf rw - ext4 /dev/sda1 rw\n`
    expect(dockerContainerOf(mounts)).toBe(HEX)
    expect(dockerContainerOf('9 8 8:1 / / rw - ext4 /dev/sda1 rw')).toBeUndefined()
  })
})
