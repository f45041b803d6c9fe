import { isAbsolute, join, normalize } from 'node:path'
import type { SandboxPaths } from '../../execution/confinement/added-paths.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'

/** The paths of the setting `sandboxPaths`. Throws if one names the whole machine, the home folder, or nothing in particular. */
export function sandboxPathsOf(
  { sandboxPaths = {} }: Pick<Config, 'sandboxPaths'>,
  { home, userHome }: Pick<Io, 'home' | 'userHome'>,
): SandboxPaths {
  const absolute = (name: 'read' | 'caches'): string[] =>
    (sandboxPaths[name] ?? []).map((given) => {
      const path = normalize(/^~(\/|$)/.test(given) ? join(userHome, given.slice(1)) : given).replace(/(.)\/$/, '$1')
      const why = problemOf(path, { home, userHome })
      if (why === undefined) return path
      throw new UsageError(
        `the setting sandboxPaths.${name} has ${fullyVisible(JSON.stringify(given))}, ${why}; see: libero config get sandboxPaths`,
      )
    })
  return { read: absolute('read'), caches: absolute('caches') }
}

function problemOf(path: string, { home, userHome }: Pick<Io, 'home' | 'userHome'>): string | undefined {
  const contains = (other: string): boolean => `${other}/`.startsWith(path === '/' ? '/' : `${path}/`)
  if (!isAbsolute(path)) return 'which is no absolute path: begin it with / or ~/'
  if (contains(userHome)) return 'which contains your home folder: name the folders in it that commands need'
  if (contains(home) || `${path}/`.startsWith(`${home}/`)) return 'where your keys and approvals are'
  if (/^\/(proc|sys|dev|run)(\/|$)/.test(path)) return 'which belongs to the system: name another one'
  return undefined
}
