/** Which token an answer was an answer to: of several requests on the way, some may still have had the old one. */
const tokens = new WeakMap<Response, string>()

const bearer = /^Bearer (.+)$/i

/** Notes it for as long as the answer is there. */
export function noteUsedToken(response: Response, authorization: string | null): void {
  const token = bearer.exec(authorization ?? '')?.[1]
  if (token !== undefined) tokens.set(response, token)
}

export function usedToken(response: Response): string | undefined {
  return tokens.get(response)
}
