/** The token of a login link, or of what it has from its `#` on. */
export function tokenIn(link: string): string | undefined {
  const [, token] = /#token=(.+)$/.exec(link) ?? []
  if (token === undefined) return undefined
  try {
    return decodeURIComponent(token)
  } catch {
    return token // written by hand, with a % of its own
  }
}
