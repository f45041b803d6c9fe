import { render } from 'preact'
import { App } from './frame/app.tsx'
import { createPageModel } from './model/page-model.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/frame.css'
import './styles/screens.css'

const page = createPageModel()
render(<App page={page} />, document.getElementById('page')!)
void page.start()
