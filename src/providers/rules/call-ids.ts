import type { NameRule } from '../wire.ts'

/** Ids of calls as a service accepts them, each only once in a conversation, and the same in every process. */
export class CallIds {
  readonly #rule: NameRule
  readonly #used = new Set<string>()

  constructor(rule: NameRule) {
    this.#rule = rule
  }

  /** Under which id the next call goes out that is known as `given`. */
  take(given: unknown): string {
    const id = this.#unique(typeof given === 'string' ? given : '')
    this.#used.add(id)
    return id
  }

  #unique(given: string): string {
    const { pattern, maxLength } = this.#rule
    const isGood = given !== '' && given.length <= maxLength && pattern.test(given)
    if (isGood && !this.#used.has(given)) return given
    const readable = isGood ? given : given.replaceAll(/[^a-zA-Z0-9]/g, '').slice(-12)
    for (let n = 1; ; n++) {
      const id = `${readable}${hash(`${given} ${n}`)}`.slice(-maxLength)
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
