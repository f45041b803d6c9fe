import { canonicalJson } from '../../platform/canonical-json.ts'
import { digestOf } from '../../platform/digest.ts'

/** Names the arguments of a call: SHA-256 over their JSON with sorted keys, so that equal arguments have one digest. */
export function argsDigest(input: unknown): string {
  return digestOf(canonicalJson(input))
}
