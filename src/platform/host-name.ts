/**
 * A host as rules compare it: lower case, Punycode, percent-encoding decoded, numbers as an address, no trailing dot, no
 * brackets. What is no host only gets lower case.
 */
export function normalizedHost(host: string): string {
  const bare = host.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
  if (/[/@?#\\\s]/.test(bare)) return bare.toLowerCase()
  const parsed = URL.parse(bare.includes(':') ? `http://[${bare}]/` : `http://${bare}/`)?.hostname
  return parsed?.replace(/^\[|\]$/g, '').replace(/\.+$/, '') || bare.toLowerCase()
}

/**
 * The host of an address or of a pattern of a rule. Scheme, user, port and path are left out, so a rule that denies counts
 * for all of them. A star stands for any characters.
 */
export function hostIn(address: string): string {
  const host = address
    .trim()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
    .replace(/[/?#\\].*$/s, '')
    .replace(/^.*@/s, '')
    .replace(/(?<=^[^:]*|\]):(\d+|\*)?$/, '')
  if (!host.includes('*')) return normalizedHost(host)
  const labels = host.replace(/\.+$/, '').split('.')
  // A label alone must not be read as a number, which would make it an address.
  return labels.map((label) => (/[^\0-\x7f]/.test(label) ? normalizedHost(label) : label.toLowerCase())).join('.')
}
