import { fullyVisible } from '../../platform/visible-text.ts'
import type { SecurityMode } from '../rules/settings.ts'

/** What is left of a project's settings, and a sentence about each thing that was dropped. */
export interface ProjectSettings {
  readonly settings: Readonly<Record<string, unknown>>
  readonly warnings: readonly string[]
}

/** Keeps what a project may say, which is what tightens. `mode` is the user's own: a project can be stricter, never looser. */
export function allowedProjectSettings(given: unknown, { mode }: { readonly mode: SecurityMode }): ProjectSettings {
  const warnings: string[] = []
  if (!isRecord(given))
    return { settings: {}, warnings: ['The settings of the project are not an object and are left out.'] }
  const drop = (key: string, reason: string): undefined => {
    warnings.push(`The project's setting ${fullyVisible(key)} is left out: ${reason}.`)
  }
  const settings: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(given)) {
    const kept = keptOf(key, value, mode, drop)
    if (kept !== undefined) settings[key] = kept
  }
  return { settings, warnings }
}

type Drop = (key: string, reason: string) => undefined

const strictness: readonly unknown[] = ['yolo', 'allowlist', 'ask', 'plan']

function keptOf(key: string, value: unknown, mode: SecurityMode, drop: Drop): unknown {
  switch (key) {
    case 'deny':
    case 'ask':
      return value
    case 'mode':
      if (strictness.indexOf(value) >= strictness.indexOf(mode)) return value
      return drop(key, `${fullyVisible(String(value))} is looser than ${mode}, and a project may only tighten`)
    case 'workspaceReads':
      return value === 'ask' ? value : drop(key, 'a project may only tighten')
    case 'tools':
      return isRecord(value) ? tightened(value, drop) : drop(key, 'it is not an object')
    default:
      return drop(key, reasonFor(key))
  }
}

/** Of the rules for tools: asking more and denying more. */
function tightened(tools: Record<string, unknown>, drop: Drop): Record<string, unknown> {
  const entries = Object.entries(tools).map(([tool, rule]) => {
    if (!isRecord(rule)) return [tool, drop(`tools.${tool}`, 'it is not an object')]
    const kept = Object.entries(rule).filter(([field, value]) => {
      if (field === 'denyPatterns' || (field === 'mode' && value === 'confirm')) return true
      drop(`tools.${tool}.${field}`, 'a project may only tighten')
      return false
    })
    return [tool, Object.fromEntries(kept)]
  })
  return Object.fromEntries(entries.filter(([, rule]) => rule !== undefined))
}

/** Only for the words: whatever is not named above is dropped, known or not. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/^allow|server/i, 'a project cannot approve itself'],
  [/sandbox|binar/i, 'a project cannot say how it is confined'],
  [/url|proxy|endpoint|provider|host/i, 'a project cannot say where requests go'],
  [/auth|helper|key|token|secret|credential/i, 'a project has no say in credentials'],
  [/telemetry|otel/i, 'a project cannot say who is told about your work'],
  [/^env/i, 'a project cannot change the environment of this program'],
]

function reasonFor(key: string): string {
  return reasons.find(([pattern]) => pattern.test(key))?.[1] ?? 'it is not one that a project may make'
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
