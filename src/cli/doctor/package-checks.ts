import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { codeOf, messageOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { broken, type Check, missing, ok } from './diagnose.ts'

interface AgentPackage {
  readonly name: string
  /** What needs it. */
  readonly for: string
  /** The oldest version that works. */
  readonly oldest?: string
  readonly from?: NodeJS.Require
}

/** A check for an optional package of agents and schedules. Does not load it. */
export function agentPackage({ name, for: use, oldest, from = createRequire(import.meta.url) }: AgentPackage): Check {
  return {
    name,
    async run() {
      try {
        const version = versionIn(from.resolve(name), name)
        if (version && oldest && version.localeCompare(oldest, 'en', { numeric: true }) < 0)
          return broken(`${version} is too old for ${use}; ${oldest} or later works`, `npm install ${name}@latest`)
        return ok(`${version ?? 'unknown version'}, for ${use}`)
      } catch (error) {
        const fix = `npm install ${name}`
        return codeOf(error) === 'MODULE_NOT_FOUND'
          ? missing(`not installed; needed for ${use}`, fix)
          : broken(`it cannot be loaded, and is needed for ${use}: ${messageOf(error)}`, fix)
      }
    },
  }
}

export const croner: Check = agentPackage({ name: 'croner', for: 'schedules by cron (libero schedules add --cron)' })
export const tiddlywiki: Check = agentPackage({ name: 'tiddlywiki', for: 'agents that work in wikis', oldest: '5.3.5' })
export const zx: Check = agentPackage({ name: 'zx', for: 'agents that run scripts (the plugin zx-script)' })

/** Some packages do not export their package.json, so it is searched for in the folders above their entry file. */
function versionIn(entry: string, name: string): string | undefined {
  for (let folder = dirname(entry); dirname(folder) !== folder; folder = dirname(folder)) {
    const described = readJson(join(folder, 'package.json'))
    if (described?.name === name) return typeof described.version === 'string' ? described.version : undefined
  }
  return undefined
}

function readJson(path: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

const packages: Readonly<Record<string, () => Promise<unknown>>> = {
  marked: () => import('marked'),
  'get-east-asian-width': () => import('get-east-asian-width'),
  '@pydantic/genai-prices': () => import('@pydantic/genai-prices'),
}

/** Packages for Markdown, wide characters and prices. */
export const optionalPackages: Check = {
  name: 'packages',
  async run() {
    const names = Object.keys(packages)
    const loaded = await Promise.allSettled(names.map((name) => packages[name]!()))
    const lacking = names.filter((_, i) => loaded[i]?.status === 'rejected')
    if (lacking.length === 0) return ok(names.join(', '))
    return missing(`${lacking.join(', ')} cannot be loaded`, `npm install ${lacking.join(' ')}`)
  },
}
