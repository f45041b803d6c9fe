/** Text as the editor holds it: newlines are `\n`, tabs stay, other control characters and halves of characters go. */
export function cleanText(text: string): string {
  const isClean = !hasControls.test(text) && text.isWellFormed()
  return isClean ? text : text.replace(/\r\n?/g, '\n').replace(controls, '').toWellFormed()
}

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are what this is about
/** Without the `u` flag, because a paste may be megabytes long. */
const hasControls = /[\0-\x08\x0b-\x1f\x7f-\x9f]/
const controls = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above
