import { dirname } from 'node:path'
import { peerPackages } from '../../../platform/peer-packages.ts'

export interface ZxPackage {
  /** Its command line, to be run with node. */
  readonly cli: string
  /** So that scripts may import it by its name. */
  readonly folder: string
}

/** The `zx` package beside us, an optional peer; `undefined` where nobody installed it. */
export function findZx(): ZxPackage | undefined {
  try {
    const { resolve } = peerPackages()
    return { cli: resolve('zx/cli'), folder: dirname(resolve('zx/package.json')) }
  } catch {
    return undefined
  }
}
