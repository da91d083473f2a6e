// An app for cdk synth: DORMOUSE_ZIPS is the directory with the release's programs.
import { App, Stack } from 'aws-cdk-lib';
import { Dormouse } from '../lib';

const stack = new Stack(new App({ analyticsReporting: false }), 'dormouse');
new Dormouse(stack, 'Dormouse', { zips: process.env.DORMOUSE_ZIPS, auth: 'IAM', streams: 'Off' });
