import { CodedError } from '../core/errors.ts'
import { didYouMean } from '../core/nearest.ts'
import type { AuthorityOptions } from './authority.ts'

/** Refuses unknown options: a rule under a misspelt name would silently not apply. */
export function checkOptions(options: AuthorityOptions): void {
  for (const name of Object.keys(options))
    if (!Object.hasOwn(known, name))
      throw invalid(`there is no option "${name}"${didYouMean(name, Object.keys(known))}`)
  const { approvalTimeoutMs: ms, answerSecret: secret } = options
  if (ms !== undefined && !(Number.isFinite(ms) && ms > 0))
    throw invalid(`approvalTimeoutMs must be a number of ms above 0, got ${String(ms)}`)
  if (secret !== undefined && !(secret instanceof Uint8Array && secret.length >= 32))
    throw invalid('answerSecret must be at least 32 random bytes, such as crypto.getRandomValues(new Uint8Array(32))')
}

const invalid = (why: string): CodedError => new CodedError('Validation/InvalidAuthorityOption', `authority: ${why}`)

const known: Record<keyof AuthorityOptions, true> = {
  mode: true,
  allow: true,
  ask: true,
  deny: true,
  allowlist: true,
  tools: true,
  workspaceReads: true,
  layers: true,
  interactors: true,
  guards: true,
  stateMachine: true,
  audit: true,
  home: true,
  answerSecret: true,
  projectGrants: true,
  workspace: true,
  headless: true,
  floor: true,
  batchPrompts: true,
  approvalTimeoutMs: true,
  secrets: true,
  clock: true,
  newId: true,
}
