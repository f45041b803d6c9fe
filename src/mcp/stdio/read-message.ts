import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isRecord } from '../../core/is-record.ts'
import { maxNesting, wellFormedJson } from '../../core/plain-json.ts'

/** A message, or why a line is none. */
type ReadLine =
  | { readonly message: JSONRPCMessage }
  /** Does not quote the line. */
  | { readonly problem: string }

/**
 * Reads one line. A refused answer becomes an error answer, so that its request does not wait forever. Only fields of the
 * protocol are kept.
 */
export function readMessage(line: string): ReadLine {
  const value = parsed(line)
  if (!isRecord(value) || value.jsonrpc !== '2.0') return { problem: 'it is no JSON-RPC message' }
  const flaws: Flaws = { malformed: false }
  const refusal = refusalOf(value, 1, flaws)
  const message = refusal ? undefined : messageFrom(flaws.malformed ? wellFormedJson(value) : value)
  if (message) return { message }
  const problem = refusal ?? 'it is a malformed JSON-RPC message'
  const isAnswer = isId(value.id) && value.method === undefined && ('result' in value || 'error' in value)
  return isAnswer ? { message: refused(value.id as string | number, problem) } : { problem }
}

function parsed(line: string): unknown {
  if (!line.startsWith('{')) return undefined // mostly plain text
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

interface Flaws {
  malformed: boolean
}

/** Runs for every message: bounded in depth, and fast. */
function refusalOf(value: object, depth: number, flaws: Flaws): string | undefined {
  if (depth > maxNesting) return `it is nested deeper than ${maxNesting} levels`
  if (Array.isArray(value)) {
    for (const inner of value) {
      const found = refusalOfOne(inner, depth, flaws)
      if (found) return found
    }
    return undefined
  }
  for (const [key, inner] of Object.entries(value)) {
    if (reachesPrototype(key, inner)) return `it has the key "${key}", which could change every object of this program`
    if (!key.isWellFormed()) flaws.malformed = true
    const found = refusalOfOne(inner, depth, flaws)
    if (found) return found
  }
  return undefined
}

function refusalOfOne(value: unknown, depth: number, flaws: Flaws): string | undefined {
  if (typeof value === 'object' && value !== null) return refusalOf(value, depth + 1, flaws)
  if (typeof value === 'string' && !value.isWellFormed()) flaws.malformed = true
  return typeof value === 'number' && !Number.isFinite(value) ? 'it has a number that is too large' : undefined
}

/** A field may be called `constructor`, but must not reach a prototype. */
function reachesPrototype(key: string, value: unknown): boolean {
  return key === '__proto__' || (key === 'constructor' && isRecord(value) && Object.hasOwn(value, 'prototype'))
}

function messageFrom({ id, method, params, result, error }: Record<string, unknown>): JSONRPCMessage | undefined {
  const jsonrpc = '2.0'
  if (method !== undefined) {
    if (typeof method !== 'string' || (params !== undefined && !isRecord(params))) return undefined
    const call = { jsonrpc, method, ...(params !== undefined && { params }) } as const
    if (id === undefined) return call
    return isId(id) ? { ...call, id } : undefined
  }
  if (isRecord(result) && isId(id)) return { jsonrpc, id, result }
  if (!isRecord(error) || typeof error.message !== 'string' || !Number.isInteger(error.code)) return undefined
  const { code, message, data } = error as { code: number; message: string; data?: unknown }
  return { jsonrpc, ...(isId(id) && { id }), error: { code, message, ...(data !== undefined && { data }) } }
}

function isId(id: unknown): id is string | number {
  return typeof id === 'string' || Number.isSafeInteger(id)
}

const internalError = -32603

function refused(id: string | number, problem: string): JSONRPCMessage {
  return {
    jsonrpc: '2.0',
    id,
    error: { code: internalError, message: `The answer of the server was refused: ${problem}` },
  }
}
