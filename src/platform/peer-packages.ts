import { createRequire } from 'node:module'

/**
 * Finds packages that the application has installed beside this one. A bundle in CommonJS has no `import.meta.url`; there
 * the application's own file is the starting point.
 */
export function peerPackages(here: string | undefined = import.meta.url): NodeJS.Require {
  return createRequire(here ?? process.argv[1] ?? `${process.cwd()}/`)
}
