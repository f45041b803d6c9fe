import type { ModelReply } from '../../src/core/provider.ts'
import { parseArguments } from '../../src/core/tool-arguments.ts'
import type { SessionContentBlock } from '../../src/core/turn.ts'
/** Answers as models really give them, and what they mean. */
export interface ReplyFixture {
  readonly title: string
  readonly text: string
  readonly calls: readonly (readonly [name: string, parameters: Readonly<Record<string, unknown>>])[]
  readonly isParallel?: boolean
}

export const replies: readonly ReplyFixture[] = [
  { title: 'no call at all', text: 'Just words, 1 < 2 and <b>bold</b>.\n', calls: [] },
  {
    title: 'the form as asked for',
    text: 'I will look.\n\n<tool_use name="read">{"path":"a.txt"}</tool_use>',
    calls: [['read', { path: 'a.txt' }]],
  },
  {
    title: 'two calls, and words between and behind',
    text: '<tool_use name="a">{}</tool_use>\nand\n<tool_use name="b">{"x":1}</tool_use>\nThat is all.',
    calls: [
      ['a', {}],
      ['b', { x: 1 }],
    ],
  },
  {
    title: 'the other form, capitals, single quotes, more attributes, over several lines',
    text: `<Function_Call id="1"\n  NAME='read' >\n{\n  "path": "a.txt"\n}\n</FUNCTION_CALL >`,
    calls: [['read', { path: 'a.txt' }]],
  },
  {
    title: 'the parallel wrapper',
    text: 'Both:\n\n<parallel_tool_calls>\n<tool_use name="a">{}</tool_use>\n<tool_use name="b">{}</tool_use>\n</parallel_tool_calls>',
    calls: [
      ['a', {}],
      ['b', {}],
    ],
    isParallel: true,
  },
  {
    title: 'a wrapper on its own line with words in it',
    text: '<parallel_tool_calls>\nFirst this:\n<tool_use name="a">{}</tool_use>\n</parallel_tool_calls>\nDone.',
    calls: [['a', {}]],
    isParallel: true,
  },
  {
    title: 'a wrapper that never closes',
    text: '<parallel_tool_calls>\n<tool_use name="a">{}</tool_use>\n',
    calls: [['a', {}]],
    isParallel: true,
  },
  {
    title: 'a wrapper that is only spoken of',
    text: 'I could use <parallel_tool_calls> here, but:\n<tool_use name="a">{}</tool_use>',
    calls: [['a', {}]],
  },
  {
    title: 'a wrapper that is only spoken of, at the end of a line',
    text: 'There is <parallel_tool_calls>\nbut I call one:\n<tool_use name="a">{}</tool_use>',
    calls: [['a', {}]],
  },
  {
    title: 'a fence that holds nothing but a call',
    text: 'Now:\n```xml\n<tool_use name="a">{"x": 1}</tool_use>\n```\n',
    calls: [['a', { x: 1 }]],
  },
  {
    title: 'a fence around parallel calls, cut off at the end',
    text: '```\n<parallel_tool_calls>\n<tool_use name="a">{}</tool_use>\n</parallel_tool_calls>',
    calls: [['a', {}]],
    isParallel: true,
  },
  {
    title: 'an example in a fence, with words',
    text: 'Like this:\n```xml\n<!-- example -->\n<tool_use name="a">{}</tool_use>\n```\nUnderstood?',
    calls: [],
  },
  {
    title: 'an example in a fence, with words behind it',
    text: '```\n<tool_use name="a">{}</tool_use>\n# this calls a\n```',
    calls: [],
  },
  {
    title: 'an example in a fence of tildes that holds one of backticks',
    text: '~~~md\nuse\n```\n<tool_use name="a">{}</tool_use>\n```\n~~~\n<tool_use name="b">{}</tool_use>',
    calls: [['b', {}]],
  },
  {
    title: 'an example in inline code, then a call',
    text: 'I write `<tool_use name="a">{}</tool_use>` so:\n<tool_use name="b">{}</tool_use>',
    calls: [['b', {}]],
  },
  {
    title: 'inline code of three backticks',
    text: '```<tool_use name="a">{}</tool_use>``` is the form. <tool_use name="b">{}</tool_use>',
    calls: [['b', {}]],
  },
  {
    title: 'a fence around the parameters',
    text: '<tool_use name="a">\n```json\n{"x": 1}\n```\n</tool_use>',
    calls: [['a', { x: 1 }]],
  },
  {
    title: 'a closing tag inside a string',
    text: '<tool_use name="write">{"text":"<tool_use name=\\"a\\">{}</tool_use> is a call"}</tool_use> done',
    calls: [['write', { text: '<tool_use name="a">{}</tool_use> is a call' }]],
  },
  {
    title: 'a string that never closes, and another call',
    text: '<tool_use name="a">{"x": "oops}</tool_use>\n<tool_use name="b">{"y":2}</tool_use>',
    calls: [
      ['a', { input: '{"x": "oops}' }],
      ['b', { y: 2 }],
    ],
  },
  {
    title: 'an apostrophe in a comment',
    text: `<tool_use name="a">{x: 1 // don't\n}</tool_use> it's <tool_use name="b">{}</tool_use>`,
    calls: [
      ['a', { x: 1 }],
      ['b', {}],
    ],
  },
  {
    title: 'a call that was not closed before the next',
    text: '<tool_use name="a">{"x":1}\n<tool_use name="b">{"y":2}</tool_use>',
    calls: [
      ['a', { x: 1 }],
      ['b', { y: 2 }],
    ],
  },
  {
    title: 'a call closed by the other tag',
    text: '<tool_use name="a">{"x":1}</function_call> so',
    calls: [['a', { x: 1 }]],
  },
  {
    title: 'a tag that is spoken of before a call',
    text: 'With <tool_use name="a"> one calls a. So: <tool_use name="b">{}</tool_use>',
    calls: [['b', {}]],
  },
  {
    title: 'a call inside a call',
    text: '<tool_use name="a"><tool_use name="b">{}</tool_use></tool_use>',
    calls: [['b', {}]],
  },
  { title: 'an empty tag', text: 'So: <tool_use name="a"/> then', calls: [['a', {}]] },
  { title: 'a name without quotes', text: '<tool_use name=a>{}</tool_use>', calls: [['a', {}]] },
  { title: 'curly quotes', text: '<tool_use name=“a”>{}</tool_use>', calls: [['a', {}]] },
  { title: 'no name', text: '<tool_use>{"name":"a"}</tool_use>', calls: [] },
  { title: 'another tag that begins alike', text: '<tool_user name="a">{}</tool_user>', calls: [] },
  { title: 'cut in the opening tag', text: 'Now <tool_use name="a', calls: [] },
  { title: 'cut in the JSON', text: 'Now\n\n<tool_use name="a">{"x": "rm -rf /tmp', calls: [] },
  { title: 'cut behind the opening tag', text: 'Now <tool_use name="a">', calls: [] },
  { title: 'cut behind the JSON', text: 'Now <tool_use name="a">{"x": 1}\n', calls: [['a', { x: 1 }]] },
  { title: 'cut in the closing tag', text: 'Now <tool_use name="a">{"x": 1}</tool_u', calls: [['a', { x: 1 }]] },
  {
    title: 'one call, then one cut off',
    text: '<tool_use name="a">{}</tool_use>\n<tool_use name="b">{"x": "half',
    calls: [['a', {}]],
  },
  {
    title: 'a made-up result behind the call',
    text: '<tool_use name="a">{}</tool_use>\n<functions_result>\nTool: a\nResult: 42\n</functions_result>',
    calls: [['a', {}]],
  },
  {
    title: 'a made-up result that holds a call, and a call of its own',
    text: '<functions_result>\nTool: a\nResult: <tool_use name="a">{}</tool_use>\n</functions_result>\n<tool_use name="b"/>',
    calls: [['b', {}]],
  },
  {
    title: 'a call that is only thought of, and one that is made',
    text: '<think>\nI could <tool_use name="a">{}</tool_use> first.\n</think>\n\n<tool_use name="b">{}</tool_use>',
    calls: [['b', {}]],
  },
  { title: 'thoughts that are cut off', text: '<THINK>Then <tool_use name="a">{}</tool_use>', calls: [] },
  {
    title: 'thoughts that are spoken of in a line',
    text: 'Between <think> and the rest: <tool_use name="a">{}</tool_use>',
    calls: [['a', {}]],
  },
  {
    title: 'the end of a thought that is only spoken of',
    text: '<tool_use name="a">{}</tool_use>\nBetween <think> and </think> one thinks, `</think>` ends it:\n> </think>\n',
    calls: [['a', {}]],
  },
  {
    title: 'a template in a fence, behind a call',
    text: '<tool_use name="a">{}</tool_use>\n```\n<think>\n</think>\n```\n',
    calls: [['a', {}]],
  },
  {
    title: 'the end of a thought inside parameters',
    text: '<tool_use name="a">{"x":"1\\n</think>\\n"}</tool_use><tool_use name="b"><think>1</think></tool_use>',
    calls: [
      ['a', { x: '1\n</think>\n' }],
      ['b', { input: '<think>1</think>' }],
    ],
  },
  {
    title: 'reasoning that is opened and closed',
    text: '<reasoning>\n<tool_use name="a">{}</tool_use>\n</reasoning>\n<tool_use name="b">{}</tool_use>',
    calls: [['b', {}]],
  },
  {
    title: 'a page that is quoted as a result, as code, and behind a >',
    text: '<functions_result>\n<tool_use name="a"/>\n</functions_result>\n```html\n<p>\n<tool_use name="a"/>\n```\n> <tool_use name="a"/>\n',
    calls: [],
  },
  {
    title: 'wrappers in wrappers',
    text: '<parallel_tool_calls>\n<parallel_tool_calls>\n<tool_use name="a"/>\n</parallel_tool_calls>\n</parallel_tool_calls>\n<tool_use name="b"/>',
    calls: [
      ['a', {}],
      ['b', {}],
    ],
    isParallel: true,
  },
  {
    title: 'separators of lines and of paragraphs, carriage returns',
    text: 'So:\u2028<tool_use name="a">{"x":"\u2029"}</tool_use>\u2029\r\n```xml\r\n<tool_use name="b">{}\r\n</tool_use>\r\n```\r\n',
    calls: [
      ['a', { x: '\u2029' }],
      ['b', {}],
    ],
  },
  { title: 'an attribute without a value', text: '<tool_use async id=7 name=a x>{}</tool_use>', calls: [['a', {}]] },
  { title: 'an empty tag without quotes and space', text: '<TOOL_USE NAME=a/>', calls: [['a', {}]] },
  { title: 'cut in the name of the tag', text: 'Now <tool_u', calls: [] },
  { title: 'cut behind a wrapper', text: 'Now:\n<parallel_tool_calls>\n', calls: [] },
  {
    title: 'a call behind a >',
    text: 'You wrote:\n> <tool_use name="a">{}</tool_use>\n\n<tool_use name="b">{}</tool_use>',
    calls: [['b', {}]],
  },
  {
    title: 'calls in a list',
    text: '- <tool_use name="a">{}</tool_use>\n- <tool_use name="b">{}</tool_use>',
    calls: [
      ['a', {}],
      ['b', {}],
    ],
  },
  {
    title: 'a call in a comment',
    text: '<!-- <tool_use name="a">{}</tool_use> -->\n<tool_use name="b">{}</tool_use>',
    calls: [['b', {}]],
  },
  {
    title: 'parameters as XML quotes them',
    text: '<tool_use name="a"><![CDATA[{"x": "1 < 2"}]]></tool_use>',
    calls: [['a', { x: '1 < 2' }]],
  },
  {
    title: 'thoughts inside parameters',
    text: '<tool_use name="a">{"x":"\\n<think>\\n"}</tool_use>\n<tool_use name="b">{}</tool_use>',
    calls: [
      ['a', { x: '\n<think>\n' }],
      ['b', {}],
    ],
  },
  {
    title: 'tags for the parameters',
    text: '<tool_use name="a"><x>1</x></tool_use>',
    calls: [['a', { input: '<x>1</x>' }]],
  },
]

/** Answers of models whose template opens the thought: only its end is said. */
export interface ThoughtFixture extends ReplyFixture {
  readonly thought: string
  /** What is said beside calls. */
  readonly said: string
}

export const thoughtReplies: readonly ThoughtFixture[] = [
  {
    title: 'a thought, then an answer',
    text: 'Hm, 1 < 2.\n</think>\n\nYes.',
    ...{ thought: 'Hm, 1 < 2.', said: 'Yes.', calls: [] },
  },
  {
    title: 'a call that is only thought of, and one that is made',
    text: 'I could <tool_use name="a">{"x":1}</tool_use> first.\n</think>\n\n<tool_use name="b">{}</tool_use>',
    ...{ thought: 'I could <tool_use name="a">{"x":1}</tool_use> first.', said: '', calls: [['b', {}]] },
  },
  {
    title: 'nothing but calls before the end, and nothing behind it',
    text: '<tool_use name="a">{}</tool_use>\n<tool_use name="b">{}</tool_use></think>',
    ...{ thought: '<tool_use name="a">{}</tool_use>\n<tool_use name="b">{}</tool_use>', said: '', calls: [] },
  },
  {
    title: 'an empty thought',
    text: '</think>\n\nSo: <tool_use name="a">{}</tool_use>',
    ...{ thought: '', said: 'So:', calls: [['a', {}]] },
  },
  {
    title: 'a call that was begun in the thought and never ended',
    text: 'Perhaps <tool_use name="a">{"x": </think> No: <tool_use name="b">{}</tool_use>',
    ...{ thought: 'Perhaps <tool_use name="a">{"x":', said: 'No:', calls: [['b', {}]] },
  },
  {
    title: 'a call that was begun in the thought, in the middle of a string',
    text: 'Perhaps <tool_use name="a">{"x": "ha </think> No: <tool_use name="b">{"y":"z"}</tool_use>',
    ...{ thought: 'Perhaps <tool_use name="a">{"x": "ha', said: 'No:', calls: [['b', { y: 'z' }]] },
  },
  {
    title: 'a call without JSON that was begun in the thought',
    text: 'Perhaps <tool_use name="a"> look </think><tool_use name="b">look</tool_use>',
    ...{ thought: 'Perhaps <tool_use name="a"> look', said: '', calls: [['b', { input: 'look' }]] },
  },
  {
    title: 'a wrapper that was begun in the thought',
    text: '<parallel_tool_calls>\n<tool_use name="a">{}</tool_use>\n</think>\n<tool_use name="b">{}</tool_use>',
    ...{ thought: '<parallel_tool_calls>\n<tool_use name="a">{}</tool_use>', said: '', calls: [['b', {}]] },
  },
  {
    title: 'a wrapper behind the thought',
    text: 'Hm.</think>\n<parallel_tool_calls>\n<tool_use name="b">{}</tool_use>\n</parallel_tool_calls>',
    ...{ thought: 'Hm.', said: '', calls: [['b', {}]], isParallel: true },
  },
  {
    title: 'a fence that was begun in the thought, behind a call',
    text: '<tool_use name="a">{}</tool_use>\n```js\nlet x\n</think>\n\n```xml\n<tool_use name="b">{}</tool_use>\n```',
    ...{ thought: '<tool_use name="a">{}</tool_use>\n```js\nlet x', said: '', calls: [['b', {}]] },
  },
  {
    title: 'a fence with a call that was begun in the thought',
    text: '```\n<tool_use name="a">{}</tool_use>\n  </think>  \n<tool_use name="b">{}</tool_use>',
    ...{ thought: '```\n<tool_use name="a">{}</tool_use>', said: '', calls: [['b', {}]] },
  },
  {
    title: 'a backtick in the thought that never closes',
    text: '<tool_use name="a">{}</tool_use> or ` not</think>\n<tool_use name="b">{}</tool_use>',
    ...{ thought: '<tool_use name="a">{}</tool_use> or ` not', said: '', calls: [['b', {}]] },
  },
  {
    title: 'several ends: the last one counts',
    text: 'Hm.</think> Or <tool_use name="a">{}</tool_use></think> So.',
    ...{ thought: 'Hm.</think> Or <tool_use name="a">{}</tool_use>', said: 'So.', calls: [] },
  },
  {
    title: 'a whole thought within the thought',
    text: 'Hm.\n<think>\nWell.\n</think>\n<tool_use name="a">{}</tool_use>\n</think>\nSo.',
    ...{ thought: 'Hm.\n<think>\nWell.\n</think>\n<tool_use name="a">{}</tool_use>', said: 'So.', calls: [] },
  },
  {
    title: 'a thought that begins in the middle of a line',
    text: 'Well. <think> I could\n<tool_use name="a">{}</tool_use>\n</think> So.',
    ...{ thought: 'Well. <think> I could\n<tool_use name="a">{}</tool_use>', said: 'So.', calls: [] },
  },
  {
    title: 'a call within a thought of one line',
    text: 'Well, <think> I could <tool_use name="a">{}</tool_use></think> So.',
    ...{ thought: 'Well, <think> I could <tool_use name="a">{}</tool_use>', said: 'So.', calls: [] },
  },
  ...['thinking', 'thought', 'Reasoning'].map((name) => ({
    title: `an end called ${name}`,
    text: `<tool_use name="a">{}</tool_use>\n</${name}>\nSo.`,
    ...{ thought: '<tool_use name="a">{}</tool_use>', said: 'So.', calls: [] },
  })),
]

/** What answers are made of, to be put together at random. */
export const fragments = [
  '<tool_use name="a">',
  '<tool_use name="a"/>',
  "<FUNCTION_CALL id=3 name='b'>",
  '</tool_use>',
  '</function_call>',
  '<parallel_tool_calls>',
  '</parallel_tool_calls>',
  '{"x":1}',
  '{"x":"</tool_use>"}',
  '{"x": [1, {"y": "z"}',
  "{x: 'don\\'t'}",
  '"',
  "'",
  '\\',
  '}',
  'words ',
  '\n',
  '\n\n',
  '```',
  '```xml\n',
  '\n```\n',
  '~~~\n',
  '`',
  '<',
  '</tool',
  '<think>',
  '</think>',
  '\n<Thinking>',
  '</thinking>',
  '\n> ',
  '\n<!-',
  '-->',
  '\n</think>\n',
  'x <think>',
  '</reasoning>',
  '-',
  '<functions_result>',
  '</functions_result>',
  '<tool_use name=',
]

/** The calls of a reply: a text that the engine has to refuse stands under `input`, as it does in the lists above. */
export function callsIn(content: readonly ModelReply['content'][number][]): unknown[] {
  const calls = content.filter((block) => block.type === 'tool_call')
  return calls.map(({ name, input }) => [name, typeof input === 'string' ? { input } : input])
}

/** A reply as the engine stores it. */
export function stored(content: readonly ModelReply['content'][number][]): readonly SessionContentBlock[] {
  const admitted = content.map((block) =>
    block.type === 'tool_call' ? { ...block, ...parseArguments(block.input, false) } : block,
  )
  return JSON.parse(JSON.stringify(admitted)) as readonly SessionContentBlock[]
}
