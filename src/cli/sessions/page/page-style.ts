/** The style of an exported page. Its digest is part of the page's security policy. */
export const pageStyle = `
:root { color-scheme: light dark; --back: #fff; --ink: #1b1f24; --dim: #59636e; --line: #d8dee4; --soft: #f5f7f9; --accent: #0a5fb4; --add: #116329; --add-back: #e3f7e8; --del: #a1111c; --del-back: #fdebec; --warn: #8a5300; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14171b; --ink: #e4e8ec; --dim: #98a3ae; --line: #32383f; --soft: #1d2126; --accent: #6cb2f5; --add: #7ee2a0; --add-back: #14301d; --del: #ff9ea5; --del-back: #3a1a1d; --warn: #e5b567; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 1.5rem 1rem 4rem; background: var(--back); color: var(--ink); font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0 0 .75rem; font-size: 1.45rem; line-height: 1.3; }
h2 { font-size: 1.15rem; } h3, h4, h5, h6 { margin: 1.2em 0 .4em; font-size: 1.05rem; }
header { border-bottom: 1px solid var(--line); padding-bottom: 1rem; margin-bottom: 1.5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; font-size: .875rem; }
dt { color: var(--dim); } dd { margin: 0; }
article { margin: 1.5rem 0; unicode-bidi: isolate; }
article > .who { color: var(--dim); font-size: .8rem; font-weight: 600; margin-bottom: .25rem; }
article.user { background: var(--soft); border-radius: .6rem; padding: .75rem 1rem; border-inline-start: .25rem solid var(--accent); }
.plain { white-space: pre-wrap; }
p, ul, ol, blockquote, table, pre { margin: .6rem 0; }
blockquote { margin-inline: 0; padding-inline-start: 1rem; border-inline-start: .2rem solid var(--line); color: var(--dim); }
pre, code { font: .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; tab-size: 4; }
code { background: var(--soft); border-radius: .25rem; padding: .1em .3em; }
pre { background: var(--soft); border-radius: .4rem; padding: .7rem .9rem; overflow-x: auto; white-space: pre-wrap; }
pre code { padding: 0; background: none; }
pre.prose { font: inherit; background: none; padding: 0; }
.block { position: relative; } .lang { position: absolute; inset-inline-end: .6rem; top: .3rem; color: var(--dim); font-size: .7rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; } th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: start; vertical-align: top; }
img { max-width: 100%; height: auto; border-radius: .4rem; }
a { color: var(--accent); } .host, .gone { color: var(--dim); font-size: .85em; }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .6rem 0; padding: 0 .8rem; }
details[open] { padding-bottom: .4rem; }
summary { cursor: pointer; padding: .45rem 0; font-size: .9rem; }
summary .what { color: var(--dim); font: .82rem ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
details.thinking { border-style: dashed; color: var(--dim); }
.mark { border-radius: 1rem; padding: .05rem .5rem; font-size: .72rem; font-weight: 600; white-space: nowrap; background: var(--soft); color: var(--dim); }
.mark.bad { background: var(--del-back); color: var(--del); } .mark.good { background: var(--add-back); color: var(--add); } .mark.waits { color: var(--warn); }
.label { margin: .5rem 0 -.3rem; font-size: .75rem; color: var(--dim); }
.diff .add { color: var(--add); background: var(--add-back); } .diff .del { color: var(--del); background: var(--del-back); } .diff .at { color: var(--accent); }
.note { color: var(--warn); font-size: .9rem; white-space: pre-wrap; border-inline-start: .2rem solid var(--warn); padding-inline-start: .8rem; margin: 1.2rem 0; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: .75rem; color: var(--dim); font-size: .8rem; }
@media (max-width: 34rem) { body { padding: 1rem .75rem 3rem; } dl { gap: .15rem .75rem; } pre { padding: .6rem; } }
@media print {
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  details::details-content { content-visibility: visible; block-size: auto; }
  article, details { break-inside: auto; } a { color: inherit; }
}
`
