/** A skill folder to be: what it is called, and what lies in it. */
export interface SkillCase {
  readonly folder: string
  readonly files: Readonly<Record<string, string>>
}

/** Skills of our own making with every oddity that public collections have, and some they do not. */
export const cases: readonly SkillCase[] = [
  one('minimal', 'name: minimal\ndescription: The least there can be.'),
  one('everything', [
    'name: everything',
    'description: "Reads PDFs: all \\"kinds\\" of them, and what\'s inside."',
    'license: Complete terms in LICENSE.txt',
    'compatibility: Needs git and network access',
    'metadata:\n  author: somebody\n  short: x y z',
    'allowed-tools: Bash(git:*) Read',
  ]),
  one('block-literal', 'name: block-literal\ndescription: |-\n  First: line.\n  Second line.'),
  one('block-kept', 'name: block-kept\ndescription: |\n  With a newline at its end.\n'),
  one('block-folded', 'name: block-folded\ndescription: >\n  Folded: into\n  one line.\n'),
  one('single-quoted', `name: single-quoted\ndescription: 'It''s: quoted # fully'`),
  one('plain-over-lines', 'name: plain-over-lines\ndescription: It goes on\n  in the next line.'),
  one('a-comment', '# what this is\nname: a-comment # really\ndescription: Not a comment#here.'),
  one('version-number', 'name: version-number\ndescription: d\nmetadata:\n  version: 1.0\n  ok: true'),
  one('version-text', 'name: version-text\ndescription: d\nmetadata:\n  version: "1.0"'),
  one('nested-metadata', 'name: nested-metadata\ndescription: d\nmetadata:\n  a:\n    b: c'),
  one('long-description', `name: long-description\ndescription: ${'d'.repeat(1068)}`),
  one('longest-description', `name: longest-description\ndescription: ${'d'.repeat(1024)}`),
  one('many-emoji', `name: many-emoji\ndescription: ${'😀'.repeat(600)}`),
  one('long-compatibility', `name: long-compatibility\ndescription: d\ncompatibility: ${'c'.repeat(501)}`),
  one('longest-compatibility', `name: longest-compatibility\ndescription: d\ncompatibility: ${'c'.repeat(500)}`),
  one('compatibility-number', 'name: compatibility-number\ndescription: d\ncompatibility: 3'),
  one('template', 'name: template-skill\ndescription: The folder is called otherwise.'),
  one('title-case', 'name: Title Case\ndescription: d'),
  one('Capitals', 'name: Capitals\ndescription: d'),
  one('under_score', 'name: under_score\ndescription: d'),
  one('-hyphen', 'name: -hyphen\ndescription: d'),
  one('hyphen-', 'name: hyphen-\ndescription: d'),
  one('two--hyphens', 'name: two--hyphens\ndescription: d'),
  one('a'.repeat(64), `name: ${'a'.repeat(64)}\ndescription: d`),
  one('a'.repeat(65), `name: ${'a'.repeat(65)}\ndescription: d`),
  one('навык', 'name: навык\ndescription: A Cyrillic name.'),
  one('技能', 'name: 技能\ndescription: A Chinese name.'),
  one('café', 'name: cafe\u0301\ndescription: Composed otherwise than its folder.'),
  one('スキル', 'name: スキル\ndescription: A Japanese name.'),
  one('42', 'name: 42\ndescription: A number.'),
  one('con', 'name: con\ndescription: A device on Windows.'),
  one('no-name', 'description: d'),
  one('no-description', 'name: no-description'),
  one('empty-name', 'name: ""\ndescription: d'),
  one('empty-description', 'name: empty-description\ndescription:'),
  one('blank-description', 'name: blank-description\ndescription: "   "'),
  one('list-description', 'name: list-description\ndescription: [a, b]'),
  one('extra-fields', 'name: extra-fields\ndescription: d\nversion: 1.0.0\nauthor: x\nargument-hint: "[file]"'),
  one('our-fields', 'name: our-fields\ndescription: d\nmodel: fast\npaths: "*.ts"\ndisable-model-invocation: true'),
  one('list-of-tools', 'name: list-of-tools\ndescription: d\nallowed-tools:\n  - Read\n  - Write'),
  one('metadata-text', 'name: metadata-text\ndescription: d\nmetadata: text'),
  one('colon', 'name: colon\ndescription: Use when: there is a colon.'),
  one('same-field-twice', 'name: same-field-twice\ndescription: a\ndescription: b'),
  one('broken-yaml', 'name: [broken-yaml\ndescription: d'),
  one('a-list', '- name: a-list\n- description: d'),
  one('only-text', 'just text'),
  one('function-tag', 'name: function-tag\ndescription: !!js/function "function () {}"'),
  one('own-tag', 'name: own-tag\ndescription: !mine text'),
  one('empty-front-matter', ''),
  one('tab', 'name: tab\ndescription: d\nmetadata:\n\tkey: value'),
  one('hyphens-in-value', 'name: hyphens-in-value\ndescription: Three --- hyphens.'),
  one('hidden', 'name: hidden\ndescription: "See \u200b\u{e0041}this."'),
  file('crlf', '---\r\nname: crlf\r\ndescription: With CRLF.\r\n---\r\nBody\r\n'),
  file('bom', '\uFEFF---\nname: bom\ndescription: With a BOM.\n---\nBody\n'),
  file('no-front-matter', '# Title\n'),
  file('not-closed', '---\nname: not-closed\ndescription: d\n'),
  file('blank-line-first', '\n---\nname: blank-line-first\ndescription: d\n---\n'),
  file('empty-file', ''),
  file('no-body', '---\nname: no-body\ndescription: d\n---'),
  file('rule-in-body', '---\nname: rule-in-body\ndescription: d\n---\nBefore\n\n---\n\nAfter\n'),
  file('small-letters', '---\nname: small-letters\ndescription: d\n---\n', 'skill.md'),
  file('other-letters', '---\nname: other-letters\ndescription: d\n---\n', 'Skill.md'),
  { folder: 'both', files: { 'SKILL.md': text('name: both\ndescription: d'), 'skill.md': 'x' } },
  { folder: 'no-file', files: { 'README.md': 'x' } },
]

function one(folder: string, front: string | readonly string[]): SkillCase {
  return file(folder, text(typeof front === 'string' ? front : front.join('\n')))
}

function file(folder: string, content: string, name = 'SKILL.md'): SkillCase {
  return { folder, files: { [name]: content } }
}

function text(front: string): string {
  return `---\n${front}\n---\n\n# Title\n\nBody.\n`
}
