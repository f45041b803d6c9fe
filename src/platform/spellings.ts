/** As itself, inside JSON that is itself a text, inside an address, in hexadecimal, and inside base64. */
export function spellingsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret)
  const inUrl = secret.isWellFormed() ? [encodeURIComponent(secret)] : []
  return [secret, JSON.stringify(secret).slice(1, -1), ...inUrl, ...inHex(bytes), ...inBase64(bytes)]
}

function inHex(bytes: Uint8Array): string[] {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return [hex, hex.toUpperCase()]
}

/** Shorter ones would be found where they are not meant. */
const shortestInBase64 = 10

/** What base64 makes of a secret, whatever stands before and after it: of each of three places, what depends on it alone. */
function inBase64(bytes: Uint8Array): string[] {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  const cores = [0, 1, 2].map((before) => {
    const whole = btoa('\0'.repeat(before) + binary).replace(/=+$/, '')
    return whole.slice(before && before + 1, (before + binary.length) % 3 === 0 ? undefined : -1)
  })
  const long = cores.filter((core) => core.length >= shortestInBase64)
  return [...long, ...long.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))]
}
