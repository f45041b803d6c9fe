import type { NameRule } from './wire.ts'

/** Translates names of tools to names that a service accepts, and back. */
interface ToolNames {
  toWire(name: string): string
  /** The name that was sent as this one; an unknown name is returned unchanged. */
  fromWire(name: string): string
}

/** Accepted names stay unchanged; others become safe names, which are the same in every process. */
export function createToolNames(rule: { readonly pattern: RegExp; readonly maxLength: number }): ToolNames {
  const sent = new Map<string, string>()
  const owners = new Map<string, string>()
  // A global pattern would keep its position between calls.
  const pattern = new RegExp(rule.pattern.source, rule.pattern.flags.replace(/[gy]/g, ''))
  const isAccepted = (name: string): boolean => name.length <= rule.maxLength && pattern.test(name)

  return {
    toWire(name) {
      const earlier = sent.get(name)
      if (earlier !== undefined) return earlier
      let wire = isAccepted(name) ? name : safeName(name, '')
      // Another tool may have this very name.
      for (let n = 1; owners.has(wire); n++) wire = safeName(name, String(n))
      sent.set(name, wire)
      owners.set(wire, name)
      return wire
    },
    fromWire: (name) => owners.get(name) ?? name,
  }

  function safeName(name: string, salt: string): string {
    const tail = `_${hashOf(name + salt)}`
    const readable = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, rule.maxLength - tail.length - 1)
    const safe = `${readable}${tail}`
    return isAccepted(safe) ? safe : `_${safe}`
  }
}

/** FNV-1a: short, and the same everywhere. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0).toString(36).padStart(7, '0')
}

/** Ids of calls as a service accepts them, each only once in a conversation, and the same in every process. */
export class CallIds {
  readonly #rule: NameRule
  readonly #used = new Set<string>()

  constructor(rule: NameRule) {
    this.#rule = rule
  }

  /** The id to send for the next call whose id in the session is `callId`. */
  take(callId: unknown): string {
    const id = this.#unique(typeof callId === 'string' ? callId : '')
    this.#used.add(id)
    return id
  }

  #unique(callId: string): string {
    const { pattern, maxLength } = this.#rule
    const isGood = callId !== '' && callId.length <= maxLength && pattern.test(callId)
    if (isGood && !this.#used.has(callId)) return callId
    const readable = isGood ? callId : callId.replaceAll(/[^a-zA-Z0-9]/g, '').slice(-12)
    for (let n = 1; ; n++) {
      const id = `${readable}${hash(`${callId} ${n}`)}`.slice(-maxLength)
      if (!this.#used.has(id) && pattern.test(id)) return id
    }
  }
}

/** FNV-1a in base 36: short, and good enough for names that are checked for being unique. */
function hash(text: string): string {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return (value >>> 0).toString(36).padStart(9, 'x')
}
