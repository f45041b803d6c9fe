/** Characters of a line that are shown as a hint. */
export const longestShown = 160

/** The beginning of a long line, with no half characters at its ends. */
export function cutLine(line: string): string {
  const isLong = line.length > longestShown
  const whole = (isLong ? line.slice(0, longestShown) : line).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '')
  return isLong ? `${whole}…` : whole
}
