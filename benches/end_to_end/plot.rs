//! What a call costs, drawn against the length of the list, its width, and the number of batches at once.

use std::path::Path;

use plotters::prelude::{
    BLUE, ChartBuilder, Circle, IntoDrawingArea as _, IntoLogRange as _, LineSeries, SVGBackend, WHITE,
};

use crate::{
    client::{Order, median},
    lab::Lab,
    works::load,
};

/// Points of one panel: where, and µs a call.
type Points = Vec<(f64, f64)>;

const PANEL: (u32, u32) = (400, 320);

/// Measures and draws.
pub(crate) async fn draw(lab: &mut Lab, file: &Path) {
    let panels = [
        ("calls in the list, sequential", lengths(lab).await),
        ("calls at once, 200 calls", widths(lab).await),
        ("batches at once, 16 wide", at_once(lab).await),
    ];
    let root = SVGBackend::new(file, (PANEL.0 * 3, PANEL.1)).into_drawing_area();
    root.fill(&WHITE).expect("it can be drawn");
    for ((title, points), area) in panels.iter().zip(root.split_evenly((1, 3))) {
        let last = points.last().map_or(1.0, |point| point.0);
        let high = points.iter().map(|point| point.1).fold(0.0, f64::max) * 1.1;
        let mut chart = ChartBuilder::on(&area)
            .caption(format!("µs a call, by {title}"), ("sans-serif", 15))
            .margin(12)
            .x_label_area_size(28)
            .y_label_area_size(44)
            .build_cartesian_2d((1.0..last).log_scale(), 0.0..high)
            .expect("axes");
        let short = |value: &f64| format!("{value:.0}");
        chart.configure_mesh().x_label_formatter(&short).y_label_formatter(&short).draw().expect("a mesh");
        chart.draw_series(LineSeries::new(points.iter().copied(), BLUE)).expect("a line");
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, BLUE))).expect("points");
    }
    root.present().expect("the file can be written");
}

async fn lengths(lab: &mut Lab) -> Points {
    let mut points = Vec::new();
    for calls in [1, 2, 5, 10, 25, 50, 100, 200] {
        let mut times = Vec::new();
        for _ in 0..lab.rounds(25) {
            times.push(lab.batch("instant", calls, Order::Sequential).await);
        }
        points.push((calls as f64, median(times).as_secs_f64() * 1e6 / calls as f64));
    }
    points
}

async fn widths(lab: &mut Lab) -> Points {
    let mut points = Vec::new();
    for width in [1, 2, 4, 8, 16] {
        let mut times = Vec::new();
        for _ in 0..lab.rounds(25) {
            times.push(lab.batch("instant", 200, Order::Parallel(width)).await);
        }
        points.push((f64::from(width), median(times).as_secs_f64() * 1e6 / 200.0));
    }
    points
}

async fn at_once(lab: &mut Lab) -> Points {
    let mut points = Vec::new();
    for batches in [1_u32, 2, 4, 8, 16, 32, 64] {
        let a_second = load::batches(lab, batches as usize, std::time::Duration::from_secs(2)).await;
        points.push((f64::from(batches), 1e6 / a_second));
    }
    points
}
