import { createHash } from 'node:crypto'
import { aboutOf } from '../story/about-story.ts'
import type { Story } from '../story/story.ts'
import { shownExactly } from './escape-html.ts'
import { markdownRenderer } from './markdown-renderer.ts'
import { pageStyle } from './page-style.ts'
import { storyParts } from './story-parts.ts'

/** A session as one page that needs nothing else: no scripts, nothing is loaded, and its policy forbids both. */
export async function storyPage(story: Story, { isRedacted }: { readonly isRedacted: boolean }): Promise<string> {
  const markdown = markdownRenderer()
  try {
    const title = shownExactly(story.title || story.id)
    const about = aboutOf(story).map(([name, value]) => `<dt>${name}</dt><dd>${shownExactly(value)}</dd>`)
    return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${pageStyle}</style>
</head>
<body>
<header>
<h1 dir="auto">${title}</h1>
<dl>
${about.join('\n')}
</dl>
</header>
<main>
${await storyParts(story, markdown)}</main>
<footer>A session of Libero. Remote images were left out${isRedacted ? ', and so was what looked like a secret' : ''}.</footer>
</body>
</html>
`
  } finally {
    await markdown.close()
  }
}

const styleDigest = createHash('sha256').update(pageStyle).digest('base64')
const policy = `default-src 'none'; style-src 'sha256-${styleDigest}'; img-src data:; base-uri 'none'; form-action 'none'`
