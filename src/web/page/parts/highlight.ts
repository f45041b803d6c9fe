import { visibleText } from '../libero.ts'
import type { HighlightAnswer } from './highlight-worker.ts'
import workerUrl from './highlight-worker.ts?worker&url'

/** A piece of code and what it is, such as `keyword`; empty for plain code. */
export type CodeSpan = readonly [scope: string, text: string]

/** Longer code is shown without colours. */
const mostCharacters = 50_000

/** The pieces of code with their scopes, found in a worker; undefined if the language is unknown or the code too long. */
export async function highlight(code: string, language: string): Promise<readonly CodeSpan[] | undefined> {
  if (code.length > mostCharacters || !/^[\w+#-]{1,30}$/.test(language)) return undefined
  const key = `${language}\n${code}`
  const known = kept.get(key)
  if (known) return known
  const answer = ask(visibleText(code), language)
  kept.set(key, answer)
  if (kept.size > mostKept) kept.delete(kept.keys().next().value!)
  return answer
}

const kept = new Map<string, Promise<readonly CodeSpan[] | undefined>>()
const mostKept = 100

let worker: Worker | undefined
/** A policy of the browser is made once. */
let address: string | undefined
let asked = 0
const waiting = new Map<number, (spans: readonly CodeSpan[] | undefined) => void>()

function ask(code: string, language: string): Promise<readonly CodeSpan[] | undefined> {
  worker ??= startWorker()
  const id = ++asked
  worker.postMessage({ id, code, language })
  return new Promise((resolve) => void waiting.set(id, resolve))
}

function startWorker(): Worker {
  const started = new Worker((address ??= trustedUrl(workerUrl)), { type: 'module', name: 'highlight' })
  // It could not be loaded, or a code broke it: what was asked stays without colours, and the next one is asked anew.
  started.onerror = () => {
    started.terminate()
    worker = undefined
    kept.clear()
    for (const resolve of waiting.values()) resolve(undefined)
    waiting.clear()
  }
  started.onmessage = ({ data: { id, spans } }: MessageEvent<HighlightAnswer>) => {
    waiting.get(id)?.(spans)
    waiting.delete(id)
  }
  return started
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string }
}

/** The policy of the page lets only this address become code. */
function trustedUrl(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  const policy = trustedTypes?.createPolicy('libero', {
    createScriptURL(given) {
      if (given !== workerUrl) throw new TypeError(`Only the worker of the page may be loaded, not ${given}`)
      return given
    },
  })
  return policy ? policy.createScriptURL(url) : url
}
