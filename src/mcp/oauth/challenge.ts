/** What a server says of the token it wants (`WWW-Authenticate`). */
export interface Challenge {
  /** Where its protected resource metadata lie. */
  readonly resourceMetadataUrl?: string
  readonly scopes: readonly string[]
  /** Such as `insufficient_scope`. */
  readonly error?: string
}

/** Reads what a 401 or a 403 asks for. A server may write anything: what is no scope or no address is left out. */
export function challengeOf({ headers }: Pick<Response, 'headers'>): Challenge {
  const header = (headers.get('www-authenticate') ?? '').slice(0, 8000)
  if (!/(^|,\s*)(bearer|dpop)\b/i.test(header)) return { scopes: [] }
  const url = URL.parse(field(header, 'resource_metadata') ?? '')
  const error = field(header, 'error')
  return {
    ...(url && { resourceMetadataUrl: url.href }),
    scopes: scopesOf(field(header, 'scope')),
    ...(error !== undefined && /^[\w.-]{1,64}$/.test(error) && { error }),
  }
}

/** The scopes of a list that servers write with blanks between them: each once, at most 100. */
export function scopesOf(text: unknown): string[] {
  if (typeof text !== 'string') return []
  // The letters of RFC 6749: none of them is invisible or ends a text.
  const found = text.split(/\s+/).filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(scope))
  return [...new Set(found)].slice(0, 100)
}

function field(header: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`(?:^|[\\s,])${name}=(?:"([^"]*)"|([^\\s,"]+))`, 'i').exec(header) ?? []
  return quoted ?? plain
}
