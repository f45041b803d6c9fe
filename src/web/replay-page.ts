/** The parts of a page without what changes between pages. */
interface ReplayPageOptions {
  readonly title: string
  /** Secrets were removed from the lines. */
  readonly isRedacted: boolean
}

/**
 * A session as one HTML page with its conversation at any time of its life, from the lines of an export. The page needs no
 * server and loads nothing; its policy allows only its own script and styles.
 */
export async function* replayPage(
  lines: AsyncIterable<string>,
  { title, isRedacted }: ReplayPageOptions,
): AsyncGenerator<string, void> {
  const { pageFiles } = await import('./page-files.ts')
  const files = await pageFiles()
  const [script, style] = [files['/replay.js']!, files['/replay.css']!]
  const [scriptDigest, styleDigest] = await Promise.all([digestOf(script), digestOf(style)])
  const policy = [
    ...["default-src 'none'", `script-src '${scriptDigest}'`, `style-src '${styleDigest}'`, 'img-src blob: data:'],
    ...["form-action 'none'", "base-uri 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"],
  ]
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join('; ')}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This copy of a session is read with JavaScript, all of which is in the file.${isRedacted ? ' What looked like a secret was removed.' : ''}</noscript>
<script type="application/json" id="session">
`
  // A tag cannot begin in it, and so the script element cannot end early.
  for await (const line of lines) yield line.replaceAll('<', '\\u003c')
  yield `</script>
<script type="module">${script}</script>
</body>
</html>
`
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)

async function digestOf(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return `sha256-${btoa(String.fromCharCode(...bytes))}`
}
