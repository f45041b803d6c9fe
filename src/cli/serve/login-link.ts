interface LoginLinkOptions {
  /** Where the server listens. */
  readonly address: string
  readonly token: string
  /** Default: the first one of the page. */
  readonly path?: string
  /** By which other machines reach it, with a port if that is another one. */
  readonly host?: string | undefined
}

/** The address that opens the page and logs in. A token behind # is sent to no server; it may have any visible character. */
export function loginLink({ address, token, path = '/', host }: LoginLinkOptions): string {
  const url = new URL(`${path}#token=${encodeURIComponent(token)}`, address)
  // A page is opened by a name that the server answers to, which 0.0.0.0 is not.
  if (host !== undefined) url.host = host
  return url.href
}
