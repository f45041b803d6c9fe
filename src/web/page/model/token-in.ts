/** The token that a login link has behind its `#`. */
export function tokenIn(hash: string): string | undefined {
  const [, token] = /^#token=(.+)$/.exec(hash) ?? []
  if (token === undefined) return undefined
  try {
    return decodeURIComponent(token)
  } catch {
    return token // written by hand, with a % of its own
  }
}
