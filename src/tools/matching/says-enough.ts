const fewestWordCharacters = 4

/** Whether a text has letters and digits enough to be recognised by; a brace or `end` has not. */
export function saysEnough(text: string): boolean {
  const word = /[\p{L}\p{N}_]/gu
  for (let i = 0; i < fewestWordCharacters; i++) if (!word.test(text)) return false
  return true
}
