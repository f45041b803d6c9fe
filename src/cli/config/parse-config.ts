import { fullyVisible } from '../../platform/visible-text.ts'
import { checkConfig } from './check-config.ts'
import type { Config } from './config.ts'
import { ConfigError } from './config-error.ts'
import { jsonProblem } from './json-problem.ts'

/** The text of a `config.json` as what it says, without `$schema`, which is for editors. */
export function parseConfig(text: string, path: string): Config {
  const value = parseJson(text, path)
  checkConfig(value, path)
  const { $schema: _, ...config } = value as Config & { $schema?: string }
  return config
}

/** JSON, or a sentence with the line and column where it stops being that. */
export function parseJson(text: string, path: string): unknown {
  const value = jsonIn(text, path)
  if (isDeep(value)) throw new ConfigError(`${fullyVisible(path)} is nested too deeply; no setting is`)
  return value
}

function jsonIn(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const { line, column, says } = jsonProblem(text) ?? { line: 1, column: 1, says: 'it cannot be read' }
    throw new ConfigError(`${fullyVisible(path)} is not JSON, line ${line}, column ${column}: ${says}`)
  }
}

const mostLevels = 20

/** What looks at a value goes into it step by step, and would not come back from one without a bottom. */
function isDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; depth < mostLevels && level.length > 0; depth++)
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  return level.length > 0
}
