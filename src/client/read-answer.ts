import { RemoteProblem } from './remote-problem.ts'

export const readText = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** The JSON of an answer; undefined if it has no content. */
export function readJson<T>(bytes: Uint8Array): T {
  if (bytes.length === 0) return undefined as T
  try {
    return JSON.parse(readText(bytes)) as T
  } catch (cause) {
    const detail = 'The answer is no JSON: something else than a server of Libero answers at this address'
    throw new RemoteProblem({ status: 200, code: 'not_json', detail }, { cause })
  }
}

export const readNothing = (): void => {}
