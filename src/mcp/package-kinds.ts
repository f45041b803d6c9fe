/** How one kind of packages names a version. */
export interface PackageKind {
  /** Whether it is the same code for ever, or at least says to be. */
  isPinned(spec: string): boolean
  /** How to pin it. */
  advice(spec: string): string
}

/** From a registry by name and version, or from a repository by its commit. */
export const npmPackage: PackageKind = {
  isPinned: (spec) => /#(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(spec) || exactVersion.test(spec.replace(registry, '')),
  advice(spec) {
    if (address.test(spec.replace(registry, '')))
      return `name a commit by its full hash, such as "${upTo(spec, '#')}#…"`
    return named(`${spec.replace(/(?<=.)@[^@/]*$/, '')}@1.2.3`)
  },
}

const registry = /^(?:npm|jsr):/
const address = /^[\w+.-]+:/
const exactVersion = /^(?![\w+.-]+:).+@v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/

/** Files too; those are there already. */
export const denoModule: PackageKind = {
  ...npmPackage,
  isPinned: (spec) => !registry.test(spec) || npmPackage.isPinned(spec),
}

export const pythonPackage: PackageKind = {
  isPinned(spec) {
    if (spec.includes('://')) return /@[0-9a-f]{40}(?:#|$)/.test(spec)
    return /===?\s*v?\d[\w.!+-]*$|.@v?\d+\.[\w.!+-]*$/.test(spec)
  },
  advice(spec) {
    if (spec.includes('://')) return `name a commit by its full hash, such as "${upTo(spec, '#')}@…"`
    return named(`${spec.replace(/\s*[=<>!~@].*$/s, '')}==1.2.3`)
  },
}

/** A tag can be moved, but whoever moves a version is found out. */
export const image: PackageKind = {
  isPinned(spec) {
    const [, tag, digest] = /^[^@]*?(?::([^:/@]+))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(spec) ?? []
    return digest !== undefined || (tag !== undefined && tag !== 'latest')
  },
  advice(spec) {
    const name = spec.replace(/@.*$/s, '').replace(/:[^:/]*$/, '')
    return `name its digest, such as "${name}@sha256:…" (docker images --digests shows it), or at least a version`
  },
}

function named(example: string): string {
  return `name one version, such as "${example}", or install it with a lock file, which pins its hash too, and give its path as command`
}

function upTo(text: string, sign: string): string {
  return text.split(sign, 1)[0] ?? text
}
